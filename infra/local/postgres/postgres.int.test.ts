import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { generateCredentials } from '../../credentials/generate.ts';
import { withAdmin } from '../../postgres/admin.ts';
import { choosePorts } from '../ports.ts';
import { startPostgres } from './postgres.ts';
import type { PostgresServer } from './postgres.ts';

let dir = '';
const servers: PostgresServer[] = [];

const start = async (port: number): Promise<PostgresServer> => {
  const server = await startPostgres({
    dataDir: join(dir, 'postgres'),
    credentialsDir: join(dir, 'credentials'),
    port,
    logFile: join(dir, 'postgres.log'),
  });
  servers.push(server);
  return server;
};

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdpoint-postgres-'));
  await generateCredentials(join(dir, 'credentials'));
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  await rm(dir, { recursive: true, force: true });
}, 60_000);

const setting = (server: PostgresServer, name: string) =>
  withAdmin(server.admin, async (client) => {
    const { rows } = await client.query<{ value: string }>('select current_setting($1) as value', [name]);
    return rows[0]?.value;
  });

test(
  'it promises what the ledger rests on, and listens on the loopback address alone',
  { timeout: 60_000 },
  async () => {
    const server = await start((await choosePorts()).postgres);
    const expected = {
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      data_checksums: 'on',
      password_encryption: 'scram-sha-256',
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      log_parameter_max_length: '0',
      server_encoding: 'UTF8',
    };
    for (const [name, value] of Object.entries(expected))
      expect([name, await setting(server, name)]).toEqual([name, value]);
    expect(await setting(server, 'server_version')).toMatch(/^18\./);
  },
);

test('committed rows survive a kill', { timeout: 60_000 }, async () => {
  const server = await start((await choosePorts()).postgres);
  await withAdmin(server.admin, (client) => client.query('create table kept (id int)'));
  await server.kill();
  await server.start();
  const { rows } = await withAdmin(server.admin, (client) =>
    client.query('select count(*)::int as count from kept'),
  );
  expect(rows).toEqual([{ count: 0 }]);
});

test(
  'a server that a killed start left running is replaced, and a stale lock is no obstacle',
  { timeout: 60_000 },
  async () => {
    const { postgres: first, nats: second } = await choosePorts();
    const left = await start(first);
    const next = await start(second);
    expect(await left.child().exited).toMatchObject({ code: 0 });
    expect(await setting(next, 'port')).toBe(String(second));
    await next.stop();
    // The number belongs to something else by now: to this very process.
    await writeFile(join(dir, 'postgres', 'postmaster.pid'), `${process.pid}\n`);
    await next.start();
    expect(await readFile(join(dir, 'postgres', 'postmaster.pid'), 'utf8')).not.toMatch(
      new RegExp(`^${process.pid}\n`),
    );
  },
);

test('the error of a taken port is one line that names the log', { timeout: 60_000 }, async () => {
  const { postgres: port } = await choosePorts();
  await start(port);
  const elsewhere = {
    dataDir: join(dir, 'second'),
    credentialsDir: join(dir, 'credentials'),
    port,
    logFile: join(dir, 'second.log'),
  };
  await expect(startPostgres(elsewhere)).rejects.toThrow(/PostgreSQL ended at once, see .*second\.log/);
});
