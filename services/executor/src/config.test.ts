import { generateKeyPairSync } from 'node:crypto';
import { rm, symlink, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { ConfigError } from '@holdpoint/runtime/config';
import { silentLogger } from '@holdpoint/runtime/log';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from './config.ts';
import { startExecutor } from './service.ts';
import { scratchFolder } from './testing/scratch.ts';

let folder: Awaited<ReturnType<typeof scratchFolder>>;
let keys: string;
beforeAll(async () => {
  folder = await scratchFolder();
  keys = join(folder.path, 'keys.pem');
  await writeFile(keys, generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }));
});
afterAll(() => folder.remove());

const read = (env: NodeJS.ProcessEnv) =>
  readConfig({
    HOLDPOINT_NATS_URL: 'nats://127.0.0.1:4222',
    HOLDPOINT_DATABASE_URL: 'postgres://hp_executor@127.0.0.1/holdpoint',
    HOLDPOINT_GRANT_PUBLIC_KEYS_FILE: keys,
    HOLDPOINT_WORKSPACE: folder.path,
    ...env,
  });

test('no request may leave unless somebody says where to', () => {
  expect(read({}).http).toEqual({ targets: new Set(), keyedTargets: new Set() });
  expect(read({ HOLDPOINT_HTTP_TARGETS: '' }).http.targets).toEqual(new Set());
});

test('targets are listed apart by what they remember', () => {
  const { http } = read({
    HOLDPOINT_HTTP_TARGETS: 'http://127.0.0.1:8080, https://api.example',
    HOLDPOINT_HTTP_KEYED_TARGETS: 'https://pay.example:8443',
  });
  expect(http.targets).toEqual(new Set(['http://127.0.0.1:8080', 'https://api.example']));
  expect(http.keyedTargets).toEqual(new Set(['https://pay.example:8443']));
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
])('%s is no origin, and is not shown', (text) => {
  const wrong = () => read({ HOLDPOINT_HTTP_KEYED_TARGETS: text });
  expect(wrong).toThrow(ConfigError);
  expect(wrong).toThrow(/HOLDPOINT_HTTP_KEYED_TARGETS: (?!.*sesame)/);
});

describe('the journal', () => {
  test('lies beside the workspace when nobody says where, and reaches back a week', () => {
    expect(read({}).journal).toEqual({
      folder: `${folder.path}.journal`,
      keepMs: 7 * 86_400_000,
      maxBytes: 2 ** 30,
    });
  });

  test('may lie anywhere but where effects write', () => {
    expect(read({ HOLDPOINT_JOURNAL: `${folder.path}/../journal` }).journal.folder).toBe(
      join(folder.path, '..', 'journal'),
    );
    for (const inside of [folder.path, join(folder.path, 'a', 'b'), `${folder.path}/..x`])
      expect(() => read({ HOLDPOINT_JOURNAL: inside })).toThrow(/HOLDPOINT_JOURNAL: inside the workspace/);
  });

  test('reached through a link into the workspace ends the start all the same', async () => {
    const link = `${folder.path}.link`;
    await symlink(folder.path, link);
    try {
      const config = read({ HOLDPOINT_JOURNAL: join(link, 'journal') });
      await expect(startExecutor(config, silentLogger())).rejects.toThrow(ConfigError);
    } finally {
      await rm(link);
    }
  });
});

describe('the repositories that tasks may work in', () => {
  test('are none when nobody names a folder', () => {
    expect(read({}).repositories).toEqual([]);
    expect(read({ HOLDPOINT_REPOSITORIES: '' }).repositories).toEqual([]);
  });

  test('lie in folders that are separated as in PATH', () => {
    const both = [folder.path, tmpdir()];
    expect(read({ HOLDPOINT_REPOSITORIES: both.join(delimiter) }).repositories).toEqual(both);
  });

  test.each([
    ['is no absolute path', 'repositories', 'not an absolute path'],
    ['is not there', '/nowhere/at/all', 'no folder'],
    ['is a file', import.meta.filename, 'no folder'],
  ])('a folder that %s ends the start, and is named', (_, path, problem) => {
    const wrong = () => read({ HOLDPOINT_REPOSITORIES: [folder.path, path].join(delimiter) });
    expect(wrong).toThrow(ConfigError);
    expect(wrong).toThrow(`HOLDPOINT_REPOSITORIES: ${JSON.stringify(path)} is ${problem}`);
  });
});

describe('the agent of tasks that name none', () => {
  test('is a program with its arguments', () => {
    expect(read({ HOLDPOINT_AGENT: '["my agent","--print"]' }).agent).toEqual(['my agent', '--print']);
    expect(read({ HOLDPOINT_AGENT: '' }).agent).toBeUndefined();
    expect(read({}).agent).toBeUndefined();
  });

  test.each(['sesame --print', '"sesame"', '[]', '["","sesame"]', '["sesame",1]', '{"sesame":1}'])(
    'is not %s, which is not shown',
    (text) => {
      const wrong = () => read({ HOLDPOINT_AGENT: text });
      expect(wrong).toThrow(ConfigError);
      expect(wrong).toThrow(/HOLDPOINT_AGENT[^:]*: (?!.*sesame)/);
    },
  );
});

describe('programs', () => {
  const host = { PATH: '/bin', MODEL_KEY: 'key', OTHER: 'other' };
  test('see what every program needs, and what is named', () => {
    expect(read(host).commandEnv).toEqual({ PATH: '/bin', TERM: 'dumb' });
    const named = read({ ...host, HOLDPOINT_COMMAND_ENV: 'MODEL_KEY, ABSENT' });
    expect(named.commandEnv).toEqual({ PATH: '/bin', MODEL_KEY: 'key', TERM: 'dumb' });
  });

  test.each(['HOLDPOINT_NATS_SEED_FILE', 'GIT_DIR', 'MODEL_KEY,', 'MODEL=KEY'])(
    'are not given %s',
    (names) => {
      expect(() => read({ HOLDPOINT_COMMAND_ENV: names })).toThrow(
        /^HOLDPOINT_COMMAND_ENV: names of variables/,
      );
    },
  );

  test('of which several run on each core, unless somebody says how many', () => {
    expect(read({}).commandsMax).toBe(4 * availableParallelism());
    expect(read({ HOLDPOINT_COMMANDS_MAX: '1' }).commandsMax).toBe(1);
    expect(() => read({ HOLDPOINT_COMMANDS_MAX: '0' })).toThrow(/HOLDPOINT_COMMANDS_MAX/);
  });

  test('are noted beside the workspace, and never where effects write', () => {
    expect(read({}).state).toBe(`${folder.path}.state`);
    expect(() => read({ HOLDPOINT_STATE: join(folder.path, 'state') })).toThrow(
      /HOLDPOINT_STATE: inside the workspace/,
    );
  });
});

test('what the executor was handed itself is known, so that no output shows it', async () => {
  const secret = join(folder.path, 'password');
  await writeFile(secret, 'open-sesame\n');
  expect(read({ HOLDPOINT_DATABASE_PASSWORD_FILE: secret }).secrets).toEqual(['open-sesame']);
});
