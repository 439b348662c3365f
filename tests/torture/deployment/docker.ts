import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { Problem } from '@holdpoint/infra/local/problem';

const WITHIN_MS = 120_000;
/** One answer may hold all rows of a run. */
const OUTPUT_MAX_BYTES = 1_024 * 1_024 * 1_024;

export const docker = (args: readonly string[], timeoutMs = WITHIN_MS): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const options = { timeout: timeoutMs, maxBuffer: OUTPUT_MAX_BYTES, encoding: 'buffer' } as const;
    execFile('docker', [...args], options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const said = stderr.toString('utf8').trim().split('\n').slice(-3).join(' ');
      reject(new Problem(`docker ${args.slice(0, 6).join(' ')}: ${said || error.message}`, { cause: error }));
    });
  });

export type ComposeProject = {
  readonly name: string;
  readonly compose: (...args: readonly string[]) => Promise<Buffer>;
};

export const composeProject = (root: string, name: string): ComposeProject => ({
  name,
  compose: (...args) =>
    docker([
      'compose',
      '--ansi',
      'never',
      '-f',
      join(root, 'infra', 'compose', 'compose.yaml'),
      '-p',
      name,
      ...args,
    ]),
});

/** The output of a Docker command as a stream. */
export async function* streamOf(args: readonly string[]): AsyncGenerator<Buffer> {
  const child = spawn('docker', [...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  // Services write to one stream and servers to the other.
  for (const stream of [child.stdout, child.stderr]) for await (const part of stream) yield part as Buffer;
  const code = await ended;
  if (code !== 0) throw new Problem(`docker ${args.join(' ')} ended with code ${String(code)}`);
}
