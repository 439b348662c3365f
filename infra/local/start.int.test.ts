import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { generateCredentials } from '../credentials/generate.ts';
import { layout } from '../credentials/layout.ts';
import { root } from './folders.ts';
import { commandOf } from './process/pid.ts';
import { startNats } from './nats/configured-nats.ts';
import { findNats, natsSearchOf } from './nats/nats-program.ts';
import { poll } from './poll.ts';
import { choosePorts, portOf } from './ports.ts';
import { silent } from './progress.ts';

const START_WITHIN_MS = 90_000;
const Processes = z.array(z.object({ name: z.string(), pid: z.int() }));

let dataDir = '';
const launched: Launched[] = [];

type Launched = {
  readonly process: ChildProcess;
  readonly output: () => string;
  readonly exited: Promise<number | null>;
};

const launch = (
  script: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Launched => {
  const child = spawn(process.execPath, [join(root, script), ...args], {
    cwd: dataDir,
    env: { ...process.env, HOLDPOINT_DATA: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const exited = new Promise<number | null>((resolve) => void child.once('close', resolve));
  const started = { process: child, output: () => text, exited };
  launched.push(started);
  return started;
};

const until = async (started: Launched, pattern: RegExp): Promise<RegExpExecArray> =>
  poll(
    async () => {
      const match = pattern.exec(started.output());
      if (match !== null) return match;
      if (started.process.exitCode !== null) return new Error(`it ended:\n${started.output()}`);
      return undefined;
    },
    { timeoutMs: START_WITHIN_MS, what: `${String(pattern)} is printed` },
  ).then((result) => {
    if (result instanceof Error) throw result;
    return result;
  });

/** The core, the executor, and the servers that name the data folder. */
const PROCESSES = 3;

const processesIn = async (dir: string) =>
  Processes.parse(JSON.parse(await readFile(join(dir, 'processes.json'), 'utf8')));

const pidOf = (dir: string, name: string): Promise<number> =>
  poll(async () => (await processesIn(dir)).find((each) => each.name === name)?.pid, {
    timeoutMs: START_WITHIN_MS,
    what: `${name} runs`,
  });

/** Every process with the data folder on its command line, or with a parent that has it. */
const survivors = async (pids: readonly number[]) => {
  const commands = await Promise.all(pids.map((pid) => commandOf(pid)));
  return commands.filter((command) => command.includes('services/') || command.includes(dataDir));
};

const cli = async (natsUrl: string, ...args: readonly string[]) => {
  const files = layout(join(dataDir, 'credentials'));
  const command = launch('packages/cli/src/main.ts', args, {
    HOLDPOINT_NATS_URL: natsUrl,
    HOLDPOINT_NATS_SEED_FILE: files.natsSeed('operator'),
    HOLDPOINT_TOKEN_FILE: files.operatorToken,
  });
  return { code: await command.exited, output: command.output() };
};

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'holdpoint-start-'));
});
afterEach(async () => {
  for (const { process: child, exited } of launched.splice(0)) {
    if (child.exitCode === null) child.kill('SIGTERM');
    await exited;
  }
  await rm(dataDir, { recursive: true, force: true });
}, 60_000);

describe('npm start', () => {
  test(
    'npm start runs a task up to its gate and on after the approval, and Ctrl-C stops everything',
    { timeout: 180_000 },
    async () => {
      const started = launch('infra/local/start.ts');
      const [, approval = ''] = await until(started, /holdpoint -- approval approve (\S+)/);
      const [, natsUrl = ''] = await until(started, /NATS +(nats:\S+)/);

      const second = launch('infra/local/start.ts');
      expect(await second.exited).toBe(0);
      expect(second.output()).toMatch(
        /Holdpoint is running already, as process \d+ since .*; this start did nothing\.\n +NATS +nats:/,
      );

      expect((await cli(natsUrl, 'approval', 'approve', approval)).code).toBe(0);
      const file = join(dataDir, 'workspace', 'sample.txt');
      const text = await poll(async () => readFile(file, 'utf8'), {
        timeoutMs: 30_000,
        what: 'the effect is applied',
      });
      expect(text.match(/Holdpoint was here/g)).toHaveLength(1);

      const pids = (await processesIn(dataDir)).map(({ pid }) => pid);
      expect((await survivors(pids)).length).toBe(PROCESSES);
      started.process.kill('SIGINT');
      expect(await started.exited).toBe(0);
      expect(await survivors(pids)).toEqual([]);
      await expect(readFile(join(dataDir, 'postgres', 'postmaster.pid'))).rejects.toThrow('ENOENT');
      await expect(readFile(join(dataDir, 'running.json'))).rejects.toThrow('ENOENT');
    },
  );

  test('npm start after a kill cleans up the processes of the killed run', { timeout: 180_000 }, async () => {
    const killed = launch('infra/local/start.ts');
    await until(killed, /approval approve/);
    const pids = (await processesIn(dataDir)).map(({ pid }) => pid);
    killed.process.kill('SIGKILL');
    await killed.exited;
    expect((await survivors(pids)).length).toBe(PROCESSES);

    const next = launch('infra/local/start.ts');
    await until(next, /approval approve/);
    expect(next.output()).toMatch(
      /an earlier start was killed and left .*nats, PostgreSQL: ended|an earlier start was killed and left nats, .*PostgreSQL: ended/,
    );
    expect(await survivors(pids)).toEqual([]);
    next.process.kill('SIGTERM');
    expect(await next.exited).toBe(0);
  });

  test(
    'npm start leaves nothing when it is interrupted together with the reader of its output',
    { timeout: 180_000 },
    async () => {
      const started = launch('infra/local/start.ts');
      await until(started, /approval approve/);
      const pids = (await processesIn(dataDir)).map(({ pid }) => pid);
      // As Ctrl-C does to both ends of a pipe.
      started.process.stdout?.destroy();
      started.process.stderr?.destroy();
      started.process.kill('SIGINT');
      expect(await started.exited).toBe(0);
      expect(await survivors(pids)).toEqual([]);
    },
  );

  test('npm start leaves nothing when it is interrupted during startup', { timeout: 180_000 }, async () => {
    const started = launch('infra/local/start.ts');
    await pidOf(dataDir, 'nats');
    const pids = (await processesIn(dataDir)).map(({ pid }) => pid);
    started.process.kill('SIGINT');
    await started.exited;
    expect(await survivors(pids)).toEqual([]);
    await expect(processesIn(dataDir)).rejects.toThrow('ENOENT');
  });
});

test(
  'npm start restarts killed servers, and a task at its gate survives',
  {
    timeout: 180_000,
  },
  async () => {
    const started = launch('infra/local/start.ts');
    const [, task = ''] = await until(started, /holdpoint -- task show (\S+)/);
    const [, natsUrl = ''] = await until(started, /NATS +(nats:\S+)/);
    const lock = await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8');
    process.kill(Number(lock.split('\n')[0]), 'SIGKILL');
    await until(started, /PostgreSQL runs again/);
    process.kill(await pidOf(dataDir, 'nats'), 'SIGKILL');
    await until(started, /NATS runs again/);
    await poll(
      async () =>
        (await cli(natsUrl, 'task', 'show', task)).output.includes('awaiting_approval') ? true : undefined,
      {
        timeoutMs: 60_000,
        what: 'the task is shown at its gate',
      },
    );
    started.process.kill('SIGINT');
    expect(await started.exited).toBe(0);
  },
);

test(
  'Ctrl-C during the download of NATS ends npm start at once, and leaves nothing half done',
  { timeout: 180_000 },
  async () => {
    // A proxy that never answers stands for a slow network.
    let isAsked = false;
    const proxy = createServer().on('connect', () => (isAsked = true));
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    onTestFinished(() => void proxy.close());
    const withoutNats = (process.env['PATH'] ?? '')
      .split(delimiter)
      .filter((folder) => !existsSync(join(folder, 'nats-server')));
    const cache = join(dataDir, 'cache');
    const started = launch('infra/local/start.ts', [], {
      PATH: withoutNats.join(delimiter),
      XDG_CACHE_HOME: cache,
      NODE_USE_ENV_PROXY: '1',
      HTTPS_PROXY: `http://127.0.0.1:${String(portOf(proxy))}`,
    });
    await poll(async () => (isAsked ? true : undefined), {
      timeoutMs: START_WITHIN_MS,
      what: 'the start asks for the download',
    });
    started.process.kill('SIGINT');
    expect(await started.exited).toBe(0);
    // It waits for no answer, and tries no other way.
    expect(started.output()).not.toContain('nats-server by');
    expect(await readdir(join(cache, 'holdpoint'))).toEqual([]);
    await expect(readFile(join(dataDir, 'running.json'))).rejects.toThrow('ENOENT');
  },
);

describe('an external NATS server', () => {
  test(
    'an external NATS server is used if it has the users, and --no-sample submits no task',
    { timeout: 180_000 },
    async () => {
      const credentialsDir = join(dataDir, 'credentials');
      await generateCredentials(credentialsDir);
      const program = await findNats(natsSearchOf(process.env), silent);
      const { nats: port } = await choosePorts();
      const logFile = join(dataDir, 'elsewhere.log');
      const server = await startNats({
        program,
        dir: join(dataDir, 'elsewhere'),
        credentialsDir,
        port,
        logFile,
      });
      try {
        const started = launch('infra/local/start.ts', ['--no-sample'], { HOLDPOINT_NATS_URL: server.url });
        await until(started, /^ +next .*\n +hints .*\nCtrl-C stops everything/m);
        expect(started.output()).not.toContain('approval approve');
        started.process.kill('SIGINT');
        expect(await started.exited).toBe(0);
        expect(server.child().hasExited()).toBe(false);
      } finally {
        await server.stop();
      }
    },
  );

  test(
    'a missing external NATS server is reported in one line with the remedy',
    { timeout: 60_000 },
    async () => {
      const started = launch('infra/local/start.ts', [], { HOLDPOINT_NATS_URL: 'nats://127.0.0.1:1' });
      expect(await started.exited).toBe(1);
      expect(started.output()).toMatch(
        /\nholdpoint: NATS at nats:\/\/127\.0\.0\.1:1 cannot be reached \(.+\): start it, or correct or unset HOLDPOINT_NATS_URL\n$/,
      );
    },
  );
});

describe('npm run demo', () => {
  test.each(['core', 'executor'])(
    'npm run demo only takes longer after a kill -9 of %s',
    { timeout: 180_000 },
    async (service) => {
      const demo = launch('infra/local/demo.ts');
      const demoDir = join(dataDir, 'demo');
      await until(demo, /1\. Task/);
      process.kill(await pidOf(demoDir, service), 'SIGKILL');
      expect(await demo.exited, demo.output()).toBe(0);
      expect(demo.output()).toMatch(/4\. The task is completed; its line was applied 1× in \S+\./);
      expect(demo.output()).toContain('Demo complete: the effect was applied once.');
    },
  );
});
