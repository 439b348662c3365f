import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { generateCredentials } from '../credentials/generate.ts';
import { layout, roleOf } from '../credentials/layout.ts';
import { readPostgresPassword } from '../credentials/read.ts';
import { choosePorts } from '../local/ports.ts';
import { startPostgres } from '../local/postgres/postgres.ts';
import type { PostgresServer } from '../local/postgres/postgres.ts';
import { withAdmin } from './admin.ts';
import { missingMigrations } from './migrate.ts';
import { provision } from './provision.ts';

let dir = '';
let credentialsDir = '';
let root = '';
let server: PostgresServer;

const FIRST = `
import { sql } from ${JSON.stringify(import.meta.resolve('kysely'))};
export const up = async (db) => {
  await sql\`create table event_runs (aggregate text, version int, data jsonb, primary key (aggregate, version))\`.execute(db);
  await sql\`create table heads (id text primary key, version int not null)\`.execute(db);
  await sql\`create table outbox (id bigint generated always as identity, messages json)\`.execute(db);
  await sql\`insert into event_runs values ('a', 1, '{}')\`.execute(db);
};`;
const SECOND = `
import { sql } from ${JSON.stringify(import.meta.resolve('kysely'))};
export const up = async (db) => void (await sql\`create table views (id text primary key)\`.execute(db));`;

const migration = (service: ServiceName, name: string, text: string) =>
  writeFile(join(root, 'services', service, 'migrations', name), text);

const provisionIt = (more: Partial<Parameters<typeof provision>[0]> = {}) =>
  provision({ admin: server.admin, credentialsDir, root, ...more });

const as = async <Result>(
  service: ServiceName,
  work: (client: Client) => Promise<Result>,
  password?: string,
): Promise<Result> => {
  const client = new Client({
    host: '127.0.0.1',
    port: server.port,
    user: roleOf(service),
    database: 'holdpoint',
    password: password ?? (await readPostgresPassword(credentialsDir, roleOf(service))),
  });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

const refusal = async (service: ServiceName, statement: string): Promise<string> => {
  try {
    await as(service, (client) => client.query(statement));
    return 'done';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdpoint-provision-'));
  credentialsDir = join(dir, 'credentials');
  root = join(dir, 'root');
  await generateCredentials(credentialsDir);
  for (const service of SERVICES) {
    await mkdir(join(root, 'services', service, 'migrations'), { recursive: true });
    await migration(service, '0001_first.ts', FIRST);
  }
  const { postgres: port } = await choosePorts();
  server = await startPostgres({
    dataDir: join(dir, 'postgres'),
    credentialsDir,
    port,
    logFile: join(dir, 'postgres.log'),
  });
}, 60_000);

afterAll(async () => {
  await server.stop();
  await rm(dir, { recursive: true, force: true });
}, 60_000);

describe('provisioning', { timeout: 30_000 }, () => {
  test('two concurrent runs provision once', async () => {
    const results = await Promise.all([provisionIt(), provisionIt()]);
    const applied = results.flatMap((result) => SERVICES.map((service) => result.applied[service]));
    expect(applied.filter((names) => names.length > 0)).toEqual(SERVICES.map(() => ['0001_first']));
  });

  test('a second run changes nothing and applies new migrations', async () => {
    expect((await provisionIt()).applied.recovery).toEqual([]);
    const missing = (): Promise<readonly string[]> =>
      as('recovery', (client) =>
        missingMigrations(client, 'recovery', join(root, 'services', 'recovery', 'migrations')),
      );
    expect(await missing()).toEqual([]);
    await migration('recovery', '0002_second.ts', SECOND);
    // The role of a service sees that its schema is behind: its pods wait.
    expect(await missing()).toEqual(['0002_second']);
    expect((await provisionIt()).applied).toEqual({
      orchestrator: [],
      approvals: [],
      executor: [],
      recovery: ['0002_second'],
    });
    expect(await missing()).toEqual([]);
    await as('recovery', (client) => client.query("insert into views values ('v')"));
  });

  test('a program that waits for a schema says for which migration, and ends when it is there', async () => {
    const service: ServiceName = 'recovery';
    const started = spawn(process.execPath, [join(import.meta.dirname, 'wait.ts'), service], {
      env: {
        HOLDPOINT_DATABASE_URL: `postgres://${roleOf(service)}@127.0.0.1:${String(server.port)}/holdpoint`,
        HOLDPOINT_DATABASE_PASSWORD_FILE: layout(credentialsDir).postgresPassword(roleOf(service)),
      },
    });
    let said = '';
    started.stdout.on('data', (text: Buffer) => (said += String(text)));
    const ended = once(started, 'close');
    const lacks = (await readdir(join(import.meta.dirname, '../../services', service, 'migrations'))).map(
      (name) => name.replace(/\.ts$/, ''),
    );
    await vi.waitFor(
      () => expect(said).toBe(`recovery waits for its schema: the schema lacks ${lacks.join(', ')}\n`),
      20_000,
    );
    const record = (statement: string) =>
      withAdmin({ ...server.admin, database: 'holdpoint' }, (client) => client.query(statement));
    await record('create table recovery.ownership ()');
    for (const name of lacks)
      await record(`insert into recovery.kysely_migration (name, timestamp) values ('${name}', now()::text)`);
    expect(await ended).toEqual([0, null]);
    expect(said).toContain('recovery: the schema is ready\n');
    for (const name of lacks) await record(`delete from recovery.kysely_migration where name = '${name}'`);
    await record('drop table recovery.ownership');
  });

  test.each(SERVICES)('%s works in its own schema without naming it', async (service) => {
    await as(service, async (client) => {
      expect((await client.query('select aggregate from event_runs')).rows).toContainEqual({
        aggregate: 'a',
      });
      await client.query("insert into heads values ('h', 1)");
      await client.query("select * from heads where id = 'h' for update");
      await client.query("update heads set version = 2 where id = 'h'");
      await client.query("delete from heads where id = 'h'");
      await client.query("insert into outbox (messages) values ('[]')");
      await client.query("insert into event_runs values ($1, 1, '{}')", [service]);
    });
  });

  test.each(SERVICES)('%s cannot change or delete an event', async (service) => {
    for (const statement of [
      "update event_runs set data = '[]'",
      'delete from event_runs',
      'truncate event_runs',
      'drop table event_runs',
      'alter table event_runs add x int',
    ]) {
      expect([statement, await refusal(service, statement)]).toEqual([
        statement,
        expect.stringMatching(/permission denied for table event_runs|must be owner of table event_runs/),
      ]);
    }
  });

  test.each(SERVICES)('%s does not see the other schemas', async (service) => {
    for (const other of SERVICES.filter((each) => each !== service)) {
      for (const statement of [
        `select * from ${other}.event_runs`,
        `insert into ${other}.heads values ('x', 1)`,
      ]) {
        expect(await refusal(service, statement)).toBe(`permission denied for schema ${other}`);
      }
    }
  });

  test.each(SERVICES)('%s cannot create objects or take another role', async (service) => {
    expect(await refusal(service, 'create table mine (id int)')).toBe(
      `permission denied for schema ${service}`,
    );
    expect(await refusal(service, 'create table public.mine (id int)')).toBe(
      'permission denied for schema public',
    );
    expect(await refusal(service, 'create schema mine')).toBe('permission denied for database holdpoint');
    expect(await refusal(service, 'create temporary table mine (id int)')).toMatch(
      /permission denied to create temporary tables/,
    );
    expect(await refusal(service, 'set role hp_owner')).toBe('permission denied to set role "hp_owner"');
    expect(await refusal(service, 'update kysely_migration set name = null')).toBe(
      'permission denied for table kysely_migration',
    );
  });

  test('sessions have a time limit', async () => {
    const shown = await as('executor', async (client) => {
      const { rows } = await client.query<{ name: string; setting: string }>(
        `select name, current_setting(name) as setting from pg_settings
          where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'search_path') order by 1`,
      );
      return rows.map(({ name, setting }) => `${name}=${setting}`);
    });
    expect(shown).toEqual([
      'idle_in_transaction_session_timeout=10s',
      'lock_timeout=2s',
      'search_path=executor',
      'statement_timeout=5s',
    ]);
    const { rows } = await withAdmin(server.admin, (client) =>
      client.query('select rolname, rolconnlimit, rolinherit, rolsuper from pg_roles where rolname = $1', [
        'hp_executor',
      ]),
    );
    expect(rows).toEqual([{ rolname: 'hp_executor', rolconnlimit: 20, rolinherit: false, rolsuper: false }]);
  });

  test('a role gets the connections of its replicas, and the default number otherwise', async () => {
    const limits = () =>
      withAdmin(server.admin, async (client) => {
        const { rows } = await client.query<{ limit: number }>(
          'select distinct rolconnlimit as limit from pg_roles where rolname = any ($1)',
          [SERVICES.map(roleOf)],
        );
        return rows.map(({ limit }) => limit);
      });
    await provisionIt({ roleConnectionsMax: 80 });
    expect(await limits()).toEqual([80]);
    await provisionIt();
    expect(await limits()).toEqual([20]);
  });

  test('a new password replaces the old one, and no statement shows it', async () => {
    const old = await readPostgresPassword(credentialsDir, 'hp_approvals');
    const rotated = join(dir, 'rotated');
    await cp(credentialsDir, rotated, { recursive: true });
    await rm(layout(rotated).postgresPassword('hp_approvals'));
    await generateCredentials(rotated);
    await provisionIt({ credentialsDir: rotated });
    await expect(as('approvals', (client) => client.query('select 1'), old)).rejects.toThrow(
      'password authentication failed',
    );
    await as(
      'approvals',
      (client) => client.query('select 1'),
      await readPostgresPassword(rotated, 'hp_approvals'),
    );
    await provisionIt();
  });

  test('another database on the same server is closed to our roles and open to others', async () => {
    await provisionIt({ database: 'other' });
    const { rows } = await withAdmin(server.admin, (client) =>
      client.query(
        "select has_database_privilege('public', 'other', 'connect') as everyone, has_database_privilege('hp_executor', 'other', 'connect') as service",
      ),
    );
    expect(rows).toEqual([{ everyone: false, service: true }]);
  });

  test('a migration that fails is named and leaves nothing half done', async () => {
    const broken =
      'export const up = async (db) => { await db.schema.createTable("half").execute(); throw new Error("boom"); };';
    await migration('executor', '0002_broken.ts', broken);
    await expect(provisionIt()).rejects.toThrow('migration 0002_broken of executor failed: boom');
    expect(await refusal('executor', 'select * from half')).toBe('relation "half" does not exist');
    await rm(join(root, 'services', 'executor', 'migrations', '0002_broken.ts'));
  });

  test('a schema with a migration of another release is refused in one line and stays unchanged', async () => {
    const ask = (statement: string): Promise<readonly unknown[]> =>
      withAdmin({ ...server.admin, database: 'holdpoint' }, async (client) => {
        const { rows } = await client.query<Record<string, unknown>>(statement);
        return rows;
      });
    await ask(`insert into recovery.kysely_migration (name, timestamp) values ('0001_old', now()::text)`);
    await migration('approvals', '0003_third.ts', SECOND.replaceAll('views', 'third'));
    await expect(provisionIt()).rejects.toThrow(
      'schema recovery has the unknown migration 0001_old: use its release, or a new database',
    );
    expect(await ask(`select to_regclass('approvals.third') as made`)).toEqual([{ made: null }]);
    await ask(`delete from recovery.kysely_migration where name = '0001_old'`);
    await rm(join(root, 'services', 'approvals', 'migrations', '0003_third.ts'));
  });

  test('a database of release 0.1.0 is refused in one line, and stays unchanged', async () => {
    const ask = (statement: string) =>
      withAdmin({ ...server.admin, database: 'holdpoint' }, (client) => client.query(statement));
    await ask(`update approvals.kysely_migration set name = '0001_schema' where name = '0001_first'`);
    await expect(provisionIt()).rejects.toThrow(
      'schema approvals is of release 0.1.0: start with a new database',
    );
    await ask(`update approvals.kysely_migration set name = '0001_first' where name = '0001_schema'`);
    expect((await provisionIt()).applied.approvals).toEqual([]);
  });

  test('a wrong password is reported at once, an absent server after a wait', async () => {
    const { admin } = server;
    await expect(provisionIt({ admin: { ...admin, password: 'wrong' }, waitMs: 60_000 })).rejects.toThrow(
      /PostgreSQL does not let in hp_admin at 127\.0\.0\.1:\d+\/postgres: password authentication failed/,
    );
    await expect(provisionIt({ admin: { ...admin, port: 1 }, waitMs: 300 })).rejects.toThrow(/ECONNREFUSED/);
  });
});
