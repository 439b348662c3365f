import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@holdpoint/contracts/values/settings';
import { expect, onTestFinished, test } from 'vitest';
import { readConfig } from './config.ts';

const env = {
  HOLDPOINT_ADMIN_DATABASE_URL: 'postgres://hp_admin:inline@postgres:5433/postgres',
  HOLDPOINT_CREDENTIALS: '/credentials',
};

test('a URL becomes a connection', async () => {
  expect(await readConfig(env)).toEqual({
    admin: {
      host: 'postgres',
      port: 5433,
      user: 'hp_admin',
      password: 'inline',
      database: 'postgres',
      ssl: false,
    },
    credentialsDir: '/credentials',
    waitMs: 60_000,
    keepDays: undefined,
    roleConnectionsMax: 20,
  });
});

test('missing URL parts get PostgreSQL’s defaults, and the password is decoded', async () => {
  const { admin } = await readConfig({
    ...env,
    HOLDPOINT_ADMIN_DATABASE_URL: 'postgresql://root:p%40ss@db?sslmode=require',
  });
  expect(admin).toEqual({
    host: 'db',
    port: 5432,
    user: 'root',
    database: 'postgres',
    password: 'p@ss',
    ssl: true,
  });
});

test('the password is that of the file, else of the URL, else of the credentials folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdpoint-config-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'password');
  await writeFile(file, 'filed\n');
  await mkdir(join(folder, 'postgres'));
  await writeFile(join(folder, 'postgres', 'hp_admin.password'), 'kept\n');
  const passwordOf = async (more: NodeJS.ProcessEnv): Promise<unknown> =>
    (await readConfig({ ...env, HOLDPOINT_CREDENTIALS: folder, ...more })).admin.password;
  expect(await passwordOf({ HOLDPOINT_ADMIN_DATABASE_PASSWORD_FILE: file })).toBe('filed');
  expect(await passwordOf({})).toBe('inline');
  expect(await passwordOf({ HOLDPOINT_ADMIN_DATABASE_URL: 'postgres://hp_admin@db' })).toBe('kept');
});

test('the retention is unchanged unless it is set', async () => {
  expect((await readConfig({ ...env, HOLDPOINT_KEEP_DAYS: '' })).keepDays).toBeUndefined();
  expect((await readConfig({ ...env, HOLDPOINT_KEEP_DAYS: '365' })).keepDays).toBe(365);
});

test('the connection limit of a role is at least the number that one replica opens', async () => {
  expect((await readConfig({ ...env, HOLDPOINT_ROLE_CONNECTIONS_MAX: '80' })).roleConnectionsMax).toBe(80);
});

test.each([
  ['HOLDPOINT_KEEP_DAYS', ['3', '0', '-1', '4.5', 'ever']],
  ['HOLDPOINT_ROLE_CONNECTIONS_MAX', ['7', '-1', 'many']],
  ['HOLDPOINT_ADMIN_DATABASE_URL', ['', 'mysql://secret@db', 'postgres://secret@[db']],
  ['HOLDPOINT_ADMIN_DATABASE_PASSWORD_FILE', ['', '/nonexistent/secret']],
])('a wrong %s is named without its value', async (name, values) => {
  for (const value of values) {
    const error: unknown = await readConfig({ ...env, [name]: value }).catch((thrown: unknown) => thrown);
    expect(error, value).toBeInstanceOf(ConfigError);
    expect(String(error)).toMatch(new RegExp(`^ConfigError: ${name}: `));
    expect(String(error)).not.toContain('secret');
  }
});

test('one error names every invalid variable', async () => {
  await expect(
    readConfig({ HOLDPOINT_ADMIN_DATABASE_URL: 'mysql://db', HOLDPOINT_ADMIN_WAIT_MS: '-1' }),
  ).rejects.toThrow(
    /HOLDPOINT_ADMIN_DATABASE_URL: a URL such as .*HOLDPOINT_CREDENTIALS: .*HOLDPOINT_ADMIN_WAIT_MS: /,
  );
});
