import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { RENAMED_SETTINGS } from '@holdpoint/contracts/values/settings';
import { ConfigError, readEnv, readSecretFile, ServiceEnv } from './config.ts';

const right = {
  HOLDPOINT_NATS_URL: 'nats://127.0.0.1:4222',
  HOLDPOINT_DATABASE_URL: 'postgres://hp_recovery@127.0.0.1:5432/holdpoint',
  HOLDPOINT_TRUST_FILE: '/keys/trust.json',
};

const complaint = (env: NodeJS.ProcessEnv): string => {
  try {
    readEnv(ServiceEnv, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('nothing was wrong');
};

test('a setting that is left out has its default', () => {
  expect(readEnv(ServiceEnv, { ...right, PATH: '/bin' })).toEqual({
    ...right,
    HOLDPOINT_HTTP_HOST: '127.0.0.1',
    HOLDPOINT_HTTP_PORT: 0,
    HOLDPOINT_LOG_LEVEL: 'info',
    HOLDPOINT_DATABASE_CONNECTIONS_MAX: 8,
    HOLDPOINT_BATCH_MAX: 500,
  });
});

describe('a setting under its former name', () => {
  const Executor = z.object({ HOLDPOINT_EXECUTOR_POOLS: z.string().optional() });

  test('is refused, and the error names the new name and no value', () => {
    expect(() => readEnv(Executor, { HOLDPOINT_POOL: 'sesame' })).toThrow(
      new ConfigError('HOLDPOINT_POOL: renamed to HOLDPOINT_EXECUTOR_POOLS'),
    );
    expect(() => readEnv(ServiceEnv, { ...right, HOLDPOINT_CRASH: 'after_commit:1' })).toThrow(
      new ConfigError('HOLDPOINT_CRASH: renamed to HOLDPOINT_TEST_CRASH_POINT'),
    );
  });

  test('is ignored when it is empty, and by services that never had the setting', () => {
    expect(readEnv(Executor, { HOLDPOINT_POOL: '' })).toEqual({});
    expect(readEnv(ServiceEnv, { ...right, HOLDPOINT_POOL: 'a' })).toMatchObject(right);
  });

  test('never hides a name that is still in use', () => {
    const names = new Set(Object.values(RENAMED_SETTINGS));
    expect(Object.keys(RENAMED_SETTINGS).filter((old) => names.has(old))).toEqual([]);
  });
});

describe('a wrong value', () => {
  const wrong = {
    HOLDPOINT_NATS_URL: ['http://sesame:4222', 'sesame', ''],
    HOLDPOINT_DATABASE_URL: ['mysql://root:sesame@host/db', 'sesame', ''],
    HOLDPOINT_NATS_SEED_FILE: [''],
    HOLDPOINT_DATABASE_PASSWORD_FILE: [''],
    HOLDPOINT_DATABASE_CONNECTIONS_MAX: ['sesame', '2', '65'],
    HOLDPOINT_TRUST_FILE: [''],
    HOLDPOINT_HTTP_HOST: [''],
    HOLDPOINT_HTTP_PORT: ['sesame', '-1', '65536', '1.5', '80 sesame'],
    HOLDPOINT_METRICS_PORT: ['sesame', '-1', '65536', '1.5'],
    HOLDPOINT_LOG_LEVEL: ['sesame', 'INFO', ''],
    HOLDPOINT_BATCH_MAX: ['sesame', '0', '5001', '1e9'],
    HOLDPOINT_TEST_GATHER_MS: ['sesame', '0', '60001'],
    HOLDPOINT_TEST_CRASH_POINT: [
      'sesame',
      'after_commit',
      'after_commit:0',
      'after_sesame:1',
      'after_note:1:sesame',
      '',
    ],
  };
  const table = Object.entries(wrong).flatMap(([variable, values]) =>
    values.map((value) => [variable, value] as const),
  );

  test('the table covers every setting', () => {
    expect(Object.keys(wrong).toSorted()).toEqual(Object.keys(ServiceEnv.shape).toSorted());
  });

  test.each(table)(
    'a wrong value of %s (%j) gives one line with the name and without the value',
    (variable, value) => {
      const said = complaint({ ...right, [variable]: value });
      expect(said).toMatch(new RegExp(`^${variable}: .+$`));
      expect(said).not.toContain('sesame');
      expect(said).not.toContain('\n');
    },
  );

  test('all wrong settings are named at once', () => {
    expect(complaint({ HOLDPOINT_HTTP_PORT: 'x' })).toMatch(
      /^HOLDPOINT_NATS_URL: is not set; HOLDPOINT_DATABASE_URL: is not set; HOLDPOINT_TRUST_FILE: is not set; HOLDPOINT_HTTP_PORT: /,
    );
  });
});

describe('a secret file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdpoint-config-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(['sesame', 'sesame\n', 'sesame\r\n'])(
    'a secret file with %j is read without its line end',
    (text) => {
      writeFileSync(join(folder, 'secret'), text);
      expect(readSecretFile('HOLDPOINT_X_FILE', join(folder, 'secret'))).toBe('sesame');
    },
  );

  test.each(['nowhere', '.'])('a secret file that cannot be read (%s) is a wrong setting', (name) => {
    expect(() => readSecretFile('HOLDPOINT_X_FILE', join(folder, name))).toThrow(
      new ConfigError('HOLDPOINT_X_FILE: the file cannot be read'),
    );
  });
});
