import { expect, test } from 'vitest';
import { readConfig } from './config.ts';

const env = {
  HOLDPOINT_ADMIN_DATABASE_URL: 'postgres://hp_admin@postgres:5433/postgres',
  HOLDPOINT_CREDENTIALS: '/credentials',
};

test('a URL becomes a connection', () => {
  expect(readConfig(env)).toEqual({
    connection: { host: 'postgres', port: 5433, user: 'hp_admin', database: 'postgres', ssl: false },
    passwordFile: undefined,
    credentialsDir: '/credentials',
    waitMs: 60_000,
    keepDays: undefined,
    roleConnectionsMax: 20,
  });
});

test('missing URL parts get PostgreSQL’s defaults, and the password is decoded', () => {
  const { connection } = readConfig({
    ...env,
    HOLDPOINT_ADMIN_DATABASE_URL: 'postgresql://root:p%40ss@db?sslmode=require',
  });
  expect(connection).toEqual({
    host: 'db',
    port: 5432,
    user: 'root',
    database: 'postgres',
    password: 'p@ss',
    ssl: true,
  });
});

test('the retention is unchanged unless it is set', () => {
  expect(readConfig({ ...env, HOLDPOINT_KEEP_DAYS: '' }).keepDays).toBeUndefined();
  expect(readConfig({ ...env, HOLDPOINT_KEEP_DAYS: '365' }).keepDays).toBe(365);
  for (const days of ['3', '0', '-1', '4.5', 'ever'])
    expect(() => readConfig({ ...env, HOLDPOINT_KEEP_DAYS: days })).toThrow(/^HOLDPOINT_KEEP_DAYS: /);
});

test('the connection limit of a role is at least the number that one replica opens', () => {
  expect(readConfig({ ...env, HOLDPOINT_ROLE_CONNECTIONS_MAX: '80' }).roleConnectionsMax).toBe(80);
  for (const connections of ['7', '-1', 'many'])
    expect(() => readConfig({ ...env, HOLDPOINT_ROLE_CONNECTIONS_MAX: connections })).toThrow(
      /^HOLDPOINT_ROLE_CONNECTIONS_MAX: /,
    );
});

const wrong = () =>
  readConfig({ HOLDPOINT_ADMIN_DATABASE_URL: 'mysql://secret@db', HOLDPOINT_ADMIN_WAIT_MS: '-1' });

test('every invalid variable is named, without its value', () => {
  expect(wrong).toThrow(
    /HOLDPOINT_ADMIN_DATABASE_URL: a URL such as .*HOLDPOINT_CREDENTIALS: .*HOLDPOINT_ADMIN_WAIT_MS: /,
  );
  expect(wrong).not.toThrow(/secret/);
});
