import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@holdpoint/runtime/service/config';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from './config.ts';

const PEM = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

let folder: string;
let base: NodeJS.ProcessEnv;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'approvals-config-'));
  await writeFile(join(folder, 'key.pem'), PEM);
  const principals = [{ name: 'ada', groups: ['operators'], tokenSha256: 'a'.repeat(64) }];
  await writeFile(join(folder, 'principals.json'), JSON.stringify({ principals }));
  base = {
    HOLDPOINT_NATS_URL: 'nats://127.0.0.1:4222',
    HOLDPOINT_DATABASE_URL: 'postgres://hp_approvals@127.0.0.1:5432/holdpoint',
    HOLDPOINT_PRINCIPALS_FILE: join(folder, 'principals.json'),
  };
});
afterAll(() => rm(folder, { recursive: true }));

describe('the rule that is built in', () => {
  const settings = (more: object) => readConfig({ ...base, HOLDPOINT_GRANT_KEY: PEM, ...more }).env;

  test('decides unless it is switched off', () => {
    expect(settings({}).HOLDPOINT_ROLLBACK_RULE).toBe('on');
    expect(settings({ HOLDPOINT_ROLLBACK_RULE: 'off' }).HOLDPOINT_ROLLBACK_RULE).toBe('off');
  });

  test('is on or off, and nothing in between', () => {
    expect(() => settings({ HOLDPOINT_ROLLBACK_RULE: 'no' })).toThrow(/HOLDPOINT_ROLLBACK_RULE/);
  });
});

describe('the key that signs', () => {
  test('comes from a file, which may change', () => {
    const path = join(folder, 'key.pem');
    expect(readConfig({ ...base, HOLDPOINT_GRANT_KEY_FILE: path })).toMatchObject({ grantKeyFile: path });
  });

  test('or from the environment, and then it stays', () => {
    const config = readConfig({ ...base, HOLDPOINT_GRANT_KEY: PEM });
    expect(config.grantKeys.signing).toHaveLength(1);
    expect(config.grantKeyFile).toBeUndefined();
  });

  test.each([
    ['from neither', {}],
    ['from both', { HOLDPOINT_GRANT_KEY: PEM, HOLDPOINT_GRANT_KEY_FILE: '/somewhere' }],
  ])('%s is a mistake that is told with all others', (_, keys) => {
    const wrong = { ...base, ...keys, HOLDPOINT_NATS_URL: 'nowhere' };
    expect(() => readConfig(wrong)).toThrow(ConfigError);
    expect(() => readConfig(wrong)).toThrow(/HOLDPOINT_NATS_URL.*HOLDPOINT_GRANT_KEY_FILE: set either this or/);
  });

  test('that is none is refused under the name that it came by, and not shown', () => {
    expect(() => readConfig({ ...base, HOLDPOINT_GRANT_KEY: 'sesame' })).toThrow(
      'HOLDPOINT_GRANT_KEY: not a private key in PEM',
    );
    expect(() => readConfig({ ...base, HOLDPOINT_GRANT_KEY: 'sesame' })).not.toThrow('sesame');
  });
});
