import { mkdirSync } from 'node:fs';
import { generateKeyPairSync } from 'node:crypto';
import { rm, symlink, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { ConfigError } from '@holdpoint/runtime/service/config';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from './config.ts';
import { effectTiming } from './effect/timing.ts';
import { define } from './service.ts';
import { scratchFolder } from '../testing/scratch.ts';

let folder: Awaited<ReturnType<typeof scratchFolder>>;
let keys: string;
beforeAll(async () => {
  folder = await scratchFolder();
  keys = join(folder.path, 'keys.pem');
  await writeFile(keys, generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }));
});
afterAll(() => folder.remove());

const settings = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  HOLDPOINT_NATS_URL: 'nats://127.0.0.1:4222',
  HOLDPOINT_DATABASE_URL: 'postgres://hp_executor@127.0.0.1/holdpoint',
  HOLDPOINT_TRUST_FILE: join(folder.path, 'trust.json'),
  HOLDPOINT_WORKSPACE: folder.path,
  ...env,
});
const read = (env: NodeJS.ProcessEnv) => readConfig(settings(env));

test('no request may leave without a configured origin', () => {
  expect(read({}).http).toEqual({
    targets: new Set(),
    keyedTargets: new Set(),
    idempotentTargets: new Set(),
    anyPublic: false,
  });
  expect(read({}).notifyTargets).toEqual(new Set());
  expect(read({ HOLDPOINT_HTTP_TARGETS: '' }).http.targets).toEqual(new Set());
});

test('tests may shorten the lease, and all durations that depend on it', () => {
  expect(read({}).timing).toEqual(effectTiming(10_000));
  expect(read({ HOLDPOINT_TEST_LEASE_MS: '1000' }).timing).toEqual(effectTiming(1_000));
  expect(() => read({ HOLDPOINT_TEST_LEASE_MS: '10' })).toThrow(ConfigError);
});

describe('custom capability modules', () => {
  const modules = (...paths: readonly string[]) =>
    read({ HOLDPOINT_CAPABILITIES: paths.join(delimiter), HOLDPOINT_WORKSPACE: join(folder.path, 'work') });

  test('modules are the listed files, each once', async () => {
    expect(modules().capabilities).toEqual([]);
    const paths = ['a.ts', 'b.mjs'].map((name) => join(folder.path, name));
    for (const path of paths) await writeFile(path, '');
    expect(modules(...paths, paths[0] ?? '', '').capabilities).toEqual(paths);
  });

  test.each([
    ['a.ts', 'is not an absolute path'],
    ['/nowhere/a.ts', 'is no file that can be read'],
    ['/etc/hostname', 'is no module'],
    ['/etc', 'is no module'],
  ])('%s is not a module: it %s', (path, said) => {
    expect(() => modules(path)).toThrow(ConfigError);
    expect(() => modules(path)).toThrow(`HOLDPOINT_CAPABILITIES: path 1 of 1 ${said}`);
  });

  test('modules inside the workspace are refused', async () => {
    const path = join(folder.path, 'c.ts');
    await writeFile(path, '');
    const inside = () => read({ HOLDPOINT_CAPABILITIES: path, HOLDPOINT_WORKSPACE: folder.path });
    expect(inside).toThrow('inside the workspace, where effects write');
  });
});

test('targets are listed by their guarantee', () => {
  const { http, notifyTargets } = read({
    HOLDPOINT_HTTP_TARGETS: 'http://127.0.0.1:8080, https://api.example',
    HOLDPOINT_HTTP_KEYED_TARGETS: 'https://pay.example:8443',
    HOLDPOINT_HTTP_IDEMPOTENT_TARGETS: 'https://put.example',
    HOLDPOINT_NOTIFY_TARGETS: 'https://discord.com,https://hooks.slack.com',
  });
  expect(http.targets).toEqual(new Set(['http://127.0.0.1:8080', 'https://api.example']));
  expect(http.keyedTargets).toEqual(new Set(['https://pay.example:8443']));
  expect(http.idempotentTargets).toEqual(new Set(['https://put.example']));
  expect(notifyTargets).toEqual(new Set(['https://discord.com', 'https://hooks.slack.com']));
});

test('public hosts are allowed only by an explicit setting', () => {
  expect(read({ HOLDPOINT_HTTP_PUBLIC: 'on' }).http.anyPublic).toBe(true);
  expect(read({ HOLDPOINT_HTTP_PUBLIC: 'off' }).http.anyPublic).toBe(false);
  for (const text of ['true', '1', 'ON', '*'])
    expect(() => read({ HOLDPOINT_HTTP_PUBLIC: text })).toThrow(/HOLDPOINT_HTTP_PUBLIC: on or off/);
});

test.each([
  'https://sesame.example/',
  'https://sesame.example/path',
  'https://sesame.example:443',
  'https://Sesame.example',
  'https://ada:sesame@api.example',
  'https://*.sesame.example',
  'ftp://sesame.example',
  'sesame.example',
  'https://sesame.example,',
  '*',
])('%s is not an origin, and is not shown', (text) => {
  const wrong = () => read({ HOLDPOINT_HTTP_KEYED_TARGETS: text });
  expect(wrong).toThrow(ConfigError);
  expect(wrong).toThrow(/HOLDPOINT_HTTP_KEYED_TARGETS: (?!.*sesame)/);
});

describe('the journal folder', () => {
  test('the journal is beside the workspace by default, and keeps a week', () => {
    expect(read({}).journal).toEqual({
      folder: `${folder.path}.journal`,
      keepMs: 7 * 86_400_000,
      maxBytes: 2 ** 30,
    });
  });

  test('the journal may be anywhere but in the workspace', () => {
    expect(read({ HOLDPOINT_JOURNAL_DIR: `${folder.path}/../journal` }).journal.folder).toBe(
      join(folder.path, '..', 'journal'),
    );
    for (const inside of [folder.path, join(folder.path, 'a', 'b'), `${folder.path}/..x`])
      expect(() => read({ HOLDPOINT_JOURNAL_DIR: inside })).toThrow(
        /HOLDPOINT_JOURNAL_DIR: inside the workspace/,
      );
  });

  test('a journal that leads into the workspace through a link ends the start', async () => {
    const link = `${folder.path}.link`;
    await symlink(folder.path, link);
    try {
      const wrong = settings({ HOLDPOINT_JOURNAL_DIR: join(link, 'journal') });
      await expect(define(wrong, silentLogger())).rejects.toThrow(ConfigError);
    } finally {
      await rm(link);
    }
  });
});

describe('the repositories of tasks', () => {
  test('there are no repositories by default', () => {
    expect(read({}).repositories).toEqual([]);
    expect(read({ HOLDPOINT_REPOSITORIES: '' }).repositories).toEqual([]);
  });

  test('repositories lie in folders that are separated as in PATH', () => {
    const both = [folder.path, tmpdir()];
    expect(read({ HOLDPOINT_REPOSITORIES: both.join(delimiter) }).repositories).toEqual(both);
  });

  test.each([
    ['is not an absolute path', 'repositories', 'not an absolute path'],
    ['does not exist', '/nowhere/at/all', 'no folder'],
    ['is a file', import.meta.filename, 'no folder'],
  ])('a folder that %s ends the start, and its position is named', (_, path, problem) => {
    const wrong = () => read({ HOLDPOINT_REPOSITORIES: [folder.path, path].join(delimiter) });
    expect(wrong).toThrow(ConfigError);
    expect(wrong).toThrow(`HOLDPOINT_REPOSITORIES: path 2 of 2 is ${problem}`);
  });
});

describe('the default agent', () => {
  test('the agent is a command with its arguments', () => {
    expect(read({ HOLDPOINT_AGENT: '["my agent","--print"]' }).agent).toEqual(['my agent', '--print']);
    expect(read({ HOLDPOINT_AGENT: '' }).agent).toBeUndefined();
    expect(read({}).agent).toBeUndefined();
  });

  test.each(['sesame --print', '"sesame"', '[]', '["","sesame"]', '["sesame",1]', '{"sesame":1}'])(
    'the agent cannot be %s, which is not shown',
    (text) => {
      const wrong = () => read({ HOLDPOINT_AGENT: text });
      expect(wrong).toThrow(ConfigError);
      expect(wrong).toThrow(/HOLDPOINT_AGENT[^:]*: (?!.*sesame)/);
    },
  );
});

describe('processes', () => {
  const host = { PATH: '/bin', MODEL_KEY: 'key', OTHER: 'other' };
  test('processes see the basic variables and the listed ones', () => {
    expect(read(host).commandEnv).toEqual({ PATH: '/bin', TERM: 'dumb' });
    const named = read({ ...host, HOLDPOINT_PROCESS_ENV: 'MODEL_KEY, ABSENT' });
    expect(named.commandEnv).toEqual({ PATH: '/bin', MODEL_KEY: 'key', TERM: 'dumb' });
  });

  test.each(['HOLDPOINT_NATS_SEED_FILE', 'GIT_DIR', 'MODEL_KEY,', 'MODEL=KEY'])(
    'processes cannot get %s',
    (names) => {
      expect(() => read({ HOLDPOINT_PROCESS_ENV: names })).toThrow(
        /^HOLDPOINT_PROCESS_ENV: names of variables/,
      );
    },
  );

  test('several processes run per core by default', () => {
    expect(read({}).commandsMax).toBe(4 * availableParallelism());
    expect(read({ HOLDPOINT_MAX_CONCURRENT_PROCESSES: '1' }).commandsMax).toBe(1);
    expect(() => read({ HOLDPOINT_MAX_CONCURRENT_PROCESSES: '0' })).toThrow(
      /HOLDPOINT_MAX_CONCURRENT_PROCESSES/,
    );
  });

  test('processes are recorded beside the workspace, and never inside', () => {
    expect(read({}).state).toBe(`${folder.path}.state`);
    expect(() => read({ HOLDPOINT_STATE_DIR: join(folder.path, 'state') })).toThrow(
      /HOLDPOINT_STATE_DIR: inside the workspace/,
    );
  });
});

test('logs and outputs are limited until they are uploaded', () => {
  const mib = 1_048_576;
  expect(read({}).spool).toEqual({ logMaxBytes: 64 * mib, maxBytes: 1_024 * mib });
  const given = read({ HOLDPOINT_LOG_MAX_MIB: '1', HOLDPOINT_SPOOL_MAX_MIB: '16' });
  expect(given.spool).toEqual({ logMaxBytes: mib, maxBytes: 16 * mib });
  expect(() => read({ HOLDPOINT_LOG_MAX_MIB: '0' })).toThrow(/HOLDPOINT_LOG_MAX_MIB/);
  expect(() => read({ HOLDPOINT_SPOOL_MAX_MIB: '1' })).toThrow(/HOLDPOINT_SPOOL_MAX_MIB/);
});

test("the executor's own secrets are known, so that no output shows them", async () => {
  const secret = join(folder.path, 'password');
  await writeFile(secret, 'open-sesame\n');
  expect(read({ HOLDPOINT_DATABASE_PASSWORD_FILE: secret }).secrets).toEqual(['open-sesame']);
});

test('the join secret is hidden from work wherever it lies', () => {
  const trust = join(folder.path, 'trust.json');
  const beside = join(folder.path, 'join.secret');
  expect(read({ HOLDPOINT_TRUST_FILE: trust }).secretFiles).toContain(beside);
  const named = read({ HOLDPOINT_TRUST_FILE: trust, HOLDPOINT_JOIN_SECRET_FILE: '/run/join' }).secretFiles;
  expect(named).toContain('/run/join');
  expect(named).not.toContain(beside);
});

describe('limits of processes', () => {
  test('processes have no configured limit by default, and are confined without a network', () => {
    const { commandLimits, work, secretTable } = read({ HOLDPOINT_PROCESS_MAX_PROCESSES: '' });
    expect(Object.values(commandLimits).filter((limit) => limit !== undefined)).toEqual([]);
    expect(work).toEqual({ wanted: 'confined', network: false, user: undefined, writable: [], hidden: [] });
    expect(secretTable.size).toBe(0);
  });

  test('limits are in bytes, processes and seconds', () => {
    const { commandLimits } = read({
      HOLDPOINT_PROCESS_MEMORY_MIB: '512',
      HOLDPOINT_PROCESS_MAX_PROCESSES: '100',
      HOLDPOINT_PROCESS_FILE_MIB: '2',
      HOLDPOINT_PROCESS_CPU_SECONDS: '60',
    });
    expect(commandLimits).toEqual({
      memoryBytes: 2 ** 29,
      processes: 100,
      fileBytes: 2 ** 21,
      cpuSeconds: 60,
    });
  });

  test.each([
    'HOLDPOINT_PROCESS_MEMORY_MIB',
    'HOLDPOINT_PROCESS_MAX_PROCESSES',
    'HOLDPOINT_PROCESS_FILE_MIB',
    'HOLDPOINT_PROCESS_CPU_SECONDS',
  ])('%s must be a whole number in its range', (name) => {
    for (const text of ['0', '-1', '1.5', 'sesame', '1e99'])
      expect(() => read({ [name]: text })).toThrow(new RegExp(`^${name}: (?!.*sesame)`));
  });

  test('work is confined, unconfined or off', () => {
    for (const wanted of ['confined', 'unconfined', 'off'])
      expect(read({ HOLDPOINT_WORK: wanted }).work.wanted).toBe(wanted);
    expect(() => read({ HOLDPOINT_WORK: 'on' })).toThrow(/HOLDPOINT_WORK/);
    expect(read({ HOLDPOINT_WORK_NETWORK: 'on' }).work.network).toBe(true);
  });

  test('folders of work exist, and contain nothing hidden', () => {
    const inner = join(folder.path, 'inner');
    mkdirSync(inner);
    expect(read({ HOLDPOINT_WORK_FOLDERS: inner }).work.writable).toEqual([inner]);
    expect(() => read({ HOLDPOINT_WORK_FOLDERS: join(inner, 'gone') })).toThrow(/path 1 of 1/);
    expect(() => read({ HOLDPOINT_WORK_FOLDERS: folder.path, HOLDPOINT_WORK_HIDDEN: inner })).toThrow(
      /contains a hidden one/,
    );
  });

  test('a work user needs an executor that runs as root, and is not root', () => {
    expect(() => read({ HOLDPOINT_WORK_USER: 'root' })).toThrow(/HOLDPOINT_WORK_USER/);
    expect(() => read({ HOLDPOINT_WORK_USER: 'no-such-user' })).toThrow(/HOLDPOINT_WORK_USER/);
  });

  test('secrets come from files or the environment', async () => {
    const file = join(folder.path, 'secrets.json');
    const secrets = { A: { env: 'MY_SECRET', for: ['https://api.example'] }, B: { file: '/run/b' } };
    await writeFile(file, JSON.stringify({ secrets }));
    const { secretTable } = read({ HOLDPOINT_SECRETS_FILE: file, MY_SECRET: 'sesame' });
    expect([...secretTable.keys()]).toEqual(['A', 'B']);
    expect(() => read({ HOLDPOINT_SECRETS_FILE: file })).toThrow(/HOLDPOINT_SECRETS_FILE: .*MY_SECRET/);
  });
});

describe('pools', () => {
  test('pools are the default one, or the listed ones without duplicates', () => {
    expect(read({}).pools).toEqual(['default']);
    expect(read({ HOLDPOINT_EXECUTOR_POOLS: 'default, gpu,gpu' }).pools).toEqual(['default', 'gpu']);
  });

  test.each(['', 'a.b', '*', 'gpu,', 'a b'])('the pools %j are invalid', (pools) => {
    expect(() => read({ HOLDPOINT_EXECUTOR_POOLS: pools })).toThrow('HOLDPOINT_EXECUTOR_POOLS');
  });
});

test('limits of targets and circuits can be set', () => {
  expect(read({})).toMatchObject({
    targetMax: 64,
    circuits: { triesMin: 10, windowMs: 30_000, openMs: 30_000 },
  });
  const said = read({
    HOLDPOINT_MAX_CONCURRENT_PER_TARGET: '3',
    HOLDPOINT_CIRCUIT_MIN_REQUESTS: '2',
    HOLDPOINT_CIRCUIT_WINDOW_MS: '5000',
    HOLDPOINT_CIRCUIT_PROBE_AFTER_MS: '1000',
  });
  expect(said).toMatchObject({ targetMax: 3, circuits: { triesMin: 2, windowMs: 5_000, openMs: 1_000 } });
  expect(() => read({ HOLDPOINT_MAX_CONCURRENT_PER_TARGET: '0' })).toThrow(
    'HOLDPOINT_MAX_CONCURRENT_PER_TARGET',
  );
});
