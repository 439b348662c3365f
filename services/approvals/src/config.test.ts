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
    HOLDPOINT_TRUST_FILE: join(folder, 'trust.json'),
    HOLDPOINT_PRINCIPALS_FILE: join(folder, 'principals.json'),
  };
});
afterAll(() => rm(folder, { recursive: true }));

describe('the built-in rule', () => {
  const settings = (more: object) => readConfig({ ...base, HOLDPOINT_GRANT_KEY: PEM, ...more }).env;

  test('the built-in rule decides unless it is turned off', () => {
    expect(settings({}).HOLDPOINT_ROLLBACK_RULE).toBe('on');
    expect(settings({ HOLDPOINT_ROLLBACK_RULE: 'off' }).HOLDPOINT_ROLLBACK_RULE).toBe('off');
  });

  test('the setting of the built-in rule takes only on and off', () => {
    expect(() => settings({ HOLDPOINT_ROLLBACK_RULE: 'no' })).toThrow(/HOLDPOINT_ROLLBACK_RULE/);
  });
});

describe('the signing key', () => {
  test('the key comes from a file that may change', () => {
    const path = join(folder, 'key.pem');
    expect(readConfig({ ...base, HOLDPOINT_GRANT_KEY_FILE: path })).toMatchObject({ grantKeyFile: path });
  });

  test('the key may come from the environment and then stays', () => {
    const config = readConfig({ ...base, HOLDPOINT_GRANT_KEY: PEM });
    expect(config.grantKeys.signing).toHaveLength(1);
    expect(config.grantKeyFile).toBeUndefined();
  });

  test.each([
    ['from no setting', {}],
    ['from both settings', { HOLDPOINT_GRANT_KEY: PEM, HOLDPOINT_GRANT_KEY_FILE: '/somewhere' }],
  ])('a key %s is reported together with all other problems', (_, keys) => {
    const wrong = { ...base, ...keys, HOLDPOINT_NATS_URL: 'nowhere' };
    expect(() => readConfig(wrong)).toThrow(ConfigError);
    expect(() => readConfig(wrong)).toThrow(
      /HOLDPOINT_NATS_URL.*HOLDPOINT_GRANT_KEY_FILE: set either this or/,
    );
  });

  test('an invalid key is reported by its setting without its value', () => {
    expect(() => readConfig({ ...base, HOLDPOINT_GRANT_KEY: 'sesame' })).toThrow(
      'HOLDPOINT_GRANT_KEY: not a private key in PEM',
    );
    expect(() => readConfig({ ...base, HOLDPOINT_GRANT_KEY: 'sesame' })).not.toThrow('sesame');
  });
});
