import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { run } from '@holdpoint/infra/local/run';
import { until } from '../../kit/until.ts';

export type Program = {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
};

/** A running command. */
export type Typed = {
  /** Its output so far, stdout and stderr. */
  readonly printed: () => string;
  /** Resolves to the exit code. Throws if the command does not end in time. */
  readonly end: () => Promise<number | null>;
  /** Sends SIGINT, like Ctrl-C. */
  readonly interrupt: () => Promise<void>;
  readonly kill: () => void;
};

/** Far above the duration of any command. */
const END_WITHIN_MS = 60_000;

const typed = (child: ChildProcess, name: string): Typed => {
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const closed = once(child, 'close');
  // The caller of `ended` handles the rejection.
  closed.catch(() => undefined);

  const end = async (): Promise<number | null> => {
    const timer = setTimeout(() => child.kill('SIGKILL'), END_WITHIN_MS);
    try {
      await closed;
    } finally {
      clearTimeout(timer);
    }
    if (child.signalCode === 'SIGKILL')
      throw new Error(`${name} did not end within ${String(END_WITHIN_MS / 1_000)} s:\n${text}`);
    return child.exitCode;
  };
  return {
    printed: () => text,
    end,
    interrupt: async () => {
      if (child.exitCode !== null) throw new Error(`${name} had ended by itself:\n${text}`);
      child.kill('SIGINT');
      await end();
    },
    kill: () => void child.kill('SIGKILL'),
  };
};

export const type = ({ command, args, ...where }: Program): Typed =>
  typed(spawn(command, [...args], { ...where, stdio: ['ignore', 'pipe', 'pipe'] }), command);

/** Waits until the command has printed a text. */
export const hasPrinted = ({ printed }: Typed, text: string, withinMs?: number): Promise<true> =>
  until(`"${text}" is printed`, () => (printed().includes(text) ? true : undefined), withinMs).catch(
    (error: unknown) => {
      throw new Error(`not printed: ${text}\nbut: ${printed()}`, { cause: error });
    },
  );

const onPath = async (name: string, path: string): Promise<string | undefined> => {
  for (const folder of path.split(delimiter).filter((each) => each !== '')) {
    const candidate = join(folder, name);
    const isProgram = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isProgram) return candidate;
  }
  return undefined;
};

export type Tools = {
  /** The path of the `nats` command; undefined without one. */
  readonly nats: string | undefined;
  readonly hasTerminals: boolean;
};

/** Finds the optional tools of this machine for documented commands. */
export const findTools = async (env: NodeJS.ProcessEnv): Promise<Tools> => {
  const path = env['PATH'] ?? '';
  const configured = env['HOLDPOINT_NATS_CLI'];
  const nats = configured ? resolve(configured) : await onPath('nats', path);
  // A `nats` command that exists but does not run is an error, not a reason to skip.
  if (nats !== undefined) await run(nats, ['--version'], { timeoutMs: 30_000 });
  // `script` takes other arguments on other systems.
  const hasTerminals = process.platform === 'linux' && (await onPath('script', path)) !== undefined;
  return { nats, hasTerminals };
};
