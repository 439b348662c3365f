// `node tests/bench/upgrade.ts [tasks]`: the time that the migrations after the first one take on a database with that many
// ended tasks, by default a million. Stops its own PostgreSQL server and removes its files.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { generateCredentials } from '@holdpoint/infra/credentials/generate';
import { DATABASE } from '@holdpoint/infra/credentials/layout';
import { root } from '@holdpoint/infra/local/folders';
import { choosePorts } from '@holdpoint/infra/local/ports';
import { startPostgres } from '@holdpoint/infra/local/postgres/postgres';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { provision } from '@holdpoint/infra/postgres/provision';

const tasks = Number(process.argv[2] ?? 1_000_000);
const FIRST = '0001_schema.ts';
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Kind, id, last status and number of events of the aggregate that a gated task leaves in each service. */
const LEFT: Readonly<
  Record<ServiceName, { kind: string; prefix: string; status: string; events: number } | undefined>
> = {
  orchestrator: { kind: 'task', prefix: 't', status: 'completed', events: 8 },
  approvals: { kind: 'approval', prefix: 'a', status: 'approved', events: 3 },
  executor: { kind: 'effect', prefix: 'e', status: 'applied', events: 3 },
  recovery: undefined,
};

/** Without triggers: the rows that they derive are not what these migrations read. */
const fill = (service: ServiceName): readonly string[] => {
  const left = LEFT[service];
  if (left === undefined) return [];
  const { kind, prefix, status, events } = left;
  const id = `'${prefix}-' || lpad(n::text, 12, '0')`;
  const at = `now() - n * interval '1 second'`;
  return [
    `SET session_replication_role = replica`,
    `INSERT INTO ${service}.heads (id, kind, version, status, finished_at, view)
     SELECT ${id}, '${kind}', ${String(events)}, '${status}', ${at},
            json_build_object('uses', 'cap.file.append', 'workflow', 'sample@1', 'goal', repeat('append a line ', 10))
       FROM generate_series(1, ${String(tasks)}) n`,
    `INSERT INTO ${service}.event_runs (aggregate, first, at, events)
     SELECT ${id}, v, ${at}, json_build_array(json_build_object('type', 'changed', 'text', repeat(md5(n::text), 10)))
       FROM generate_series(1, ${String(tasks)}) n, generate_series(1, ${String(events)}) v`,
    `ANALYZE ${service}.heads, ${service}.event_runs`,
  ];
};

const folder = await mkdtemp(join(tmpdir(), 'holdpoint-upgrade-'));
const credentialsDir = join(folder, 'credentials');
await generateCredentials(credentialsDir);
const { postgres: port } = await choosePorts();
const logFile = join(folder, 'postgres.log');
const server = await startPostgres({ dataDir: join(folder, 'postgres'), credentialsDir, port, logFile });
try {
  const { admin } = server;
  const before = join(folder, 'before');
  for (const service of SERVICES) {
    const migrations = join('services', service, 'migrations');
    await mkdir(join(before, migrations), { recursive: true });
    const from = JSON.stringify(pathToFileURL(join(root, migrations, FIRST)).href);
    await writeFile(join(before, migrations, FIRST), `export { up } from ${from};\n`);
  }
  await provision({ admin, credentialsDir, root: before });
  const bytes = await withAdmin({ ...admin, database: DATABASE }, async (client) => {
    await client.query('SET statement_timeout = 0');
    for (const statement of SERVICES.flatMap(fill)) await client.query(statement);
    await client.query('CHECKPOINT');
    const { rows } = await client.query<{ bytes: string }>(
      'SELECT pg_database_size(current_database()) AS bytes',
    );
    return Number(rows[0]?.bytes);
  });
  say(
    `${String(tasks)} tasks, ${(bytes / 1e9).toFixed(1)} GB; ${String(cpus().length)} CPUs, ${(totalmem() / 1e9).toFixed(0)} GB of memory`,
  );
  for (const round of ['the migrations', 'a second run']) {
    const started = performance.now();
    const { applied } = await provision({ admin, credentialsDir, root });
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    const names = SERVICES.flatMap((service) => applied[service].map((name) => `${service} ${name}`));
    say(`${round}: ${seconds} s; ${names.length === 0 ? 'nothing to apply' : names.join(', ')}`);
  }
} finally {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
