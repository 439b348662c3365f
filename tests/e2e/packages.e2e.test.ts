import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { layout } from '@holdpoint/infra/credentials/layout';
import { root } from '@holdpoint/infra/local/folders';
import { packInto } from '@holdpoint/infra/release/pack';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startStack, type Stack } from '../conformance/support/stack.ts';
import { Hopeless, until } from '../kit/until.ts';
import { filesIn } from '../repo/docs-code.ts';

// An empty folder of a new user: packages from tarballs, and the first program of docs/sdk.md.

const run = promisify(execFile);
const OLDEST_NODE = '22';
const OLDEST_TYPESCRIPT = '5.9';

let stack: Stack;
let folder: string;
beforeAll(async () => {
  stack = await startStack();
  folder = mkdtempSync(join(tmpdir(), 'holdpoint-user-'));
  const tarballs = packInto(join(folder, 'tarballs'));
  writeFileSync(join(folder, 'package.json'), '{"name":"mine","private":true,"type":"module"}\n');
  const tools = [`typescript@${OLDEST_TYPESCRIPT}`, '@types/node@22', `node@${OLDEST_NODE}`, 'zod'];
  await npm('install', '--no-audit', '--no-fund', ...tarballs, ...tools);
  const guide = filesIn('docs/sdk.md', readFileSync(join(root, 'docs', 'sdk.md'), 'utf8'));
  const { natsSeed } = layout(stack.system.run.credentialsDir);
  for (const { name, code } of guide.filter(({ name }) =>
    /^(greet|greet-in-memory|worker|start)\.ts$/.test(name),
  ))
    writeFileSync(
      join(folder, name),
      code
        .replaceAll('nats://127.0.0.1:4222', stack.system.nats.url)
        .replaceAll('.holdpoint/data/credentials/nats/worker.seed', natsSeed('worker'))
        .replaceAll('.holdpoint/data/credentials/nats/operator.seed', natsSeed('operator')),
    );
}, 240_000);
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await stack.stop();
});

const npm = (...args: readonly string[]) => run('npm', args, { cwd: folder });
const installed = (tool: string): string => join(folder, 'node_modules', '.bin', tool);

const holdpoint = async (...args: readonly string[]): Promise<string> => {
  const files = layout(stack.system.run.credentialsDir);
  const { stdout } = await run(process.execPath, [installed('holdpoint'), ...args], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      HOLDPOINT_NATS_URL: stack.system.nats.url,
      HOLDPOINT_NATS_SEED_FILE: files.natsSeed('operator'),
      HOLDPOINT_TOKEN_FILE: files.operatorToken,
    },
  });
  return stdout;
};

describe('packages in a folder of a new user', () => {
  test.each([
    ['the oldest TypeScript', 'nodenext', () => installed('tsc')],
    ['the oldest TypeScript, for a bundler', 'bundler', () => installed('tsc')],
    ['the newest TypeScript, for a bundler', 'bundler', () => join(root, 'node_modules', '.bin', 'tsc')],
  ])('the first program type-checks with %s', async (_, resolution, compiler) => {
    const strict = [
      '--strict',
      '--noEmit',
      '--skipLibCheck',
      'false',
      '--target',
      'es2023',
      '--types',
      'node',
    ];
    const modules = [
      '--module',
      resolution === 'bundler' ? 'esnext' : resolution,
      '--moduleResolution',
      resolution,
    ];
    const files = ['greet-in-memory.ts', 'worker.ts', 'start.ts'];
    const args = [...strict, ...modules, '--allowImportingTsExtensions', ...files];
    const { stdout } = await run(compiler(), args, { cwd: folder }).catch(
      ({ stdout: problems }: { readonly stdout: string }) => ({ stdout: problems }),
    );
    expect(stdout).toBe('');
  });

  test.each([
    ['the oldest Node.js', () => installed('node')],
    ['the Node.js of this repository', () => process.execPath],
  ])('the first program runs in memory with %s', async (_, node) => {
    const { stderr } = await run(
      node(),
      ['--no-warnings', '--experimental-strip-types', 'greet-in-memory.ts'],
      {
        cwd: folder,
      },
    );
    expect(stderr).toBe('');
  });

  test('holdpoint dev runs everything in the folder, with the oldest Node.js', async () => {
    const { PATH, HOME } = process.env;
    const env = { PATH, HOME, XDG_STATE_HOME: folder };
    const dev = spawn(installed('node'), [installed('holdpoint'), 'dev', '--no-sample'], {
      cwd: folder,
      env,
    });
    let printed = '';
    for (const stream of [dev.stdout, dev.stderr])
      stream.on('data', (text: Buffer) => (printed += String(text)));
    const ended = once(dev, 'close');
    try {
      await until('holdpoint dev is ready', () => {
        if (dev.exitCode !== null) throw new Hopeless(printed);
        return printed.includes('Ctrl-C stops everything') ? true : undefined;
      });
      const { stdout } = await run(installed('node'), [installed('holdpoint'), 'admin', 'doctor'], {
        cwd: folder,
        env,
      });
      expect(stdout).toMatch(/service orchestrator .* on Node\.js 22\./);
      expect(stdout).toMatch(/ 0 errors$/m);
      const page = /console +(\S+)/.exec(printed)?.[1] ?? '';
      expect(await (await fetch(page)).text()).toContain('<title>');
    } finally {
      dev.kill('SIGINT');
    }
    expect(await ended).toEqual([0, null]);
  });

  test('the first program holds its effect until the installed command line approves it', async () => {
    const worker = spawn(installed('node'), ['--experimental-strip-types', 'worker.ts'], { cwd: folder });
    const leave = new AbortController();
    const { signal } = leave;
    const started = run(installed('node'), ['--experimental-strip-types', 'start.ts'], {
      cwd: folder,
      signal,
    });
    // Its failure is the failure of the steps below.
    started.catch(() => undefined);
    try {
      for (const choice of [['answer', '--yes'], ['approve']] as const) {
        const id = await until(`a request waits to ${choice[0]}`, async () => {
          const { items } = JSON.parse(await holdpoint('approval', 'list', '--json')) as {
            readonly items: readonly { readonly id: string }[];
          };
          return items[0]?.id;
        });
        await holdpoint('approval', choice[0], id, ...choice.slice(1));
      }
      const { stdout } = await started;
      expect(stdout.trim().split('\n').at(-1)).toBe('Good morning, Ada');
    } finally {
      worker.kill('SIGKILL');
      leave.abort();
    }
    const lines = readFileSync(join(stack.system.workspace, 'greetings.txt'), 'utf8').trim().split('\n');
    expect(lines).toEqual([expect.stringMatching(/\tGood morning, Ada$/)]);
  });
});
