import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { VERSION } from '@holdpoint/contracts/values/version';
import { root } from '@holdpoint/infra/local/folders';
import { parseRunning, type Running, runningFile } from '@holdpoint/infra/local/running';
import { packInto } from '@holdpoint/infra/release/pack';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LAST_RELEASE, obstacleToLastRelease, packLastRelease } from '../kit/last-release.ts';
import { Hopeless, until } from '../kit/until.ts';
import { decideFirstProgram } from '../kit/tasks/first-program.ts';
import { filesIn } from '../repo/docs-code.ts';

// The server of one release, with the SDK and the command line of the other.

const run = promisify(execFile);
const obstacle = await obstacleToLastRelease();
if (obstacle !== undefined) console.warn(`the last release is not tested: ${obstacle}`);

let home: string;
const folderOf = (version: string): string => join(home, version);

beforeAll(async () => {
  if (obstacle !== undefined) return;
  home = mkdtempSync(join(tmpdir(), 'holdpoint-releases-'));
  const packages = [
    [LAST_RELEASE.version, await packLastRelease(join(home, 'last'))],
    [VERSION, packInto(join(home, 'this'))],
  ] as const;
  const guide = filesIn('docs/sdk.md', readFileSync(join(root, 'docs', 'sdk.md'), 'utf8'));
  for (const [version, tarballs] of packages) {
    const folder = folderOf(version);
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), '{"name":"mine","private":true,"type":"module"}\n');
    await run('npm', ['install', '--no-audit', '--no-fund', ...tarballs, 'zod'], { cwd: folder });
    for (const { name, code } of guide.filter((file) => /^(greet|worker|start)\.ts$/.test(file.name)))
      writeFileSync(join(folder, name), code);
  }
}, 300_000);
afterAll(() => {
  if (obstacle === undefined) rmSync(home, { recursive: true, force: true });
});

const programOf = (version: string): string => join(folderOf(version), 'node_modules', '.bin', 'holdpoint');

/** Starts the server of a release in a folder of its own. */
const startServer = async (
  version: string,
): Promise<{ readonly server: ChildProcess; readonly running: Running }> => {
  const folder = mkdtempSync(join(home, 'server-'));
  const { PATH, HOME } = process.env;
  const server = spawn(process.execPath, [programOf(version), 'dev', '--no-sample'], {
    cwd: folder,
    env: { PATH, HOME, XDG_STATE_HOME: folder },
  });
  let printed = '';
  for (const stream of [server.stdout, server.stderr])
    stream.on('data', (text: Buffer) => (printed += String(text)));
  await until(`the server of ${version} is ready`, () => {
    if (server.exitCode !== null) throw new Hopeless(printed);
    return printed.includes('Ctrl-C stops everything') ? true : undefined;
  });
  const text = readFileSync(runningFile(join(folder, '.holdpoint', 'data')), 'utf8');
  const running = parseRunning(text);
  if (running === undefined) throw new Error(`no record of a running server: ${text}`);
  return { server, running };
};

/** The programs of the guide read these places. */
const pointAt = (version: string, { natsUrl = '', credentials = '' }: Running): void => {
  for (const file of ['worker.ts', 'start.ts']) {
    const path = join(folderOf(version), file);
    const code = readFileSync(path, 'utf8')
      .replace(/nats:\/\/[^']*/, natsUrl)
      .replace(/'[^']*\/nats\//, `'${credentials}/nats/`);
    writeFileSync(path, code);
  }
};

const releases = [
  { server: VERSION, client: LAST_RELEASE.version },
  { server: LAST_RELEASE.version, client: VERSION },
];

describe.skipIf(obstacle !== undefined)('two releases', () => {
  test.each(releases)(
    'the server $server holds an effect of the SDK $client until the command line $client approves it',
    async ({ server: of, client }) => {
      const { server, running } = await startServer(of);
      const ended = once(server, 'close');
      const folder = folderOf(client);
      pointAt(client, running);
      const env = {
        PATH: process.env['PATH'],
        HOLDPOINT_NATS_URL: running.natsUrl,
        HOLDPOINT_NATS_SEED_FILE: running.natsSeedFile,
        HOLDPOINT_TOKEN_FILE: running.tokenFile,
      };
      const holdpoint = async (...args: readonly string[]): Promise<string> =>
        (await run(process.execPath, [programOf(client), ...args], { cwd: folder, env })).stdout;
      const worker = spawn(process.execPath, ['worker.ts'], { cwd: folder });
      const leave = new AbortController();
      const started = run(process.execPath, ['start.ts'], { cwd: folder, signal: leave.signal });
      // Its failure is the failure of the steps below.
      started.catch(() => undefined);
      try {
        expect((await holdpoint('--version')).trim()).toBe(client);
        await decideFirstProgram(holdpoint);
        const { stdout } = await started;
        expect(stdout.trim().split('\n').at(-1)).toBe('Good morning, Ada');
      } finally {
        worker.kill('SIGKILL');
        leave.abort();
        server.kill('SIGINT');
      }
      expect(await ended).toEqual([0, null]);
      const lines = readFileSync(join(running.workspace ?? '', 'greetings.txt'), 'utf8')
        .trim()
        .split('\n');
      expect(lines).toEqual([expect.stringMatching(/\tGood morning, Ada$/)]);
    },
  );
});
