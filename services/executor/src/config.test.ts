import { generateKeyPairSync } from 'node:crypto';
import { rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
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
