import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ApprovalRequested } from '@holdpoint/contracts/approval/events';
import { CORE_SERVICES } from '@holdpoint/contracts/bus/subjects';
import { root } from '@holdpoint/infra/local/folders';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { countWork, type Work } from '../../kit/counted-work.ts';
import { type PostgresServer, startPostgresServer } from '../../kit/stack/postgres-server.ts';
import { preparePostgres } from '../../kit/stack/prepare-postgres.ts';
import { currentRun } from '../../kit/stack/run.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { newTaskId } from '../../kit/tasks/tasks.ts';
import { untilTrue } from '../../kit/until.ts';

/** The budget of a gated task. Whoever raises a number says why in the commit. */
const BUDGET = join(root, 'tests', 'budget', 'gated-task.json');

/** Sizes vary a little with ids, times and pages. A machine that stalls sends a message again, with a seal and a lock. */
const TOLERANCE: Readonly<Record<string, number>> = {
  statements: 0.05,
  signatures: 0.05,
  verifications: 0.05,
  messageBytes: 0.02,
  walBytes: 0.1,
  tableBytes: 0.15,
};
/** Allows three background transactions of two statements in 100 tasks. One more per task exceeds it. */
const BACKGROUND: Readonly<Record<string, number>> = { commits: 0.03, statements: 0.06 };
const PER_TASK = z.record(z.string(), z.number());
const Budget = z.record(z.string(), PER_TASK);

let postgres: PostgresServer;
const counting = countWork();
beforeAll(async () => {
  const { backend, folder: runFolder, credentialsDir } = currentRun();
  const folder = join(runFolder, 'budget');
  await mkdir(folder);
  postgres = await startPostgresServer(backend, { folder, runFolder, credentialsDir });
  // Images of whole pages and vacuuming come when they come.
  await withAdmin(postgres.admin, async (admin) => {
    await admin.query('ALTER SYSTEM SET full_page_writes = off');
    await admin.query('ALTER SYSTEM SET autovacuum = off');
    await admin.query('SELECT pg_reload_conf()');
  });
  await preparePostgres(postgres.admin, credentialsDir);
});
afterAll(async () => {
  counting.stop();
  await postgres.remove();
});

/** After so many tasks every table has more than four pages. */
const GROWN_AFTER = 40;

type Sizes = { readonly walBytes: number; readonly tableBytes: number; readonly rows: number };
type Costs = Work & Sizes & { readonly messages: number; readonly messageBytes: number };

const OF_SERVICES = "schemaname IN ('orchestrator', 'approvals', 'executor', 'recovery')";

const sizesOf = ({ database }: System): Promise<Sizes> =>
  withAdmin(database.admin, async (admin) => {
    const { rows } = await admin.query<{ wal: string; bytes: string; name: string }>(
      `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS wal, quote_ident(schemaname) || '.' || quote_ident(tablename) AS name,
              pg_total_relation_size(quote_ident(schemaname) || '.' || quote_ident(tablename)) AS bytes
         FROM pg_tables WHERE ${OF_SERVICES} ORDER BY name`,
    );
    let count = 0;
    for (const { name } of rows) {
      // Rows of the outbox go with a later batch.
      if (name.endsWith('.outbox')) continue;
      const counted = await admin.query<{ n: string }>(`SELECT count(*) AS n FROM ${name}`);
      count += Number(counted.rows[0]?.n);
    }
    return {
      walBytes: Number(rows[0]?.wal),
      tableBytes: rows.reduce((sum, { bytes }) => sum + Number(bytes), 0),
      rows: count,
    };
  });

const costsSoFar = async (system: System, monitor: NatsConnection): Promise<Costs> => {
  const manager = await jetstreamManager(monitor);
  let [messages, messageBytes] = [0, 0];
  for (const name of ['HP_CMD', 'HP_EVT', 'HP_IN']) {
    const { state } = await manager.streams.info(name);
    messages += state.last_seq;
    messageBytes += state.bytes;
  }
  return { ...counting.soFar(), messages, messageBytes, ...(await sizesOf(system)) };
};

const countEvents = (
  { admin }: System['database'],
  type: string,
  aggregates: readonly string[] | null = null,
): Promise<number> =>
  withAdmin(admin, async (client) => {
    const { rows } = await client.query<{ n: string }>(
      'SELECT count(*) AS n FROM approvals.events WHERE type = $1 AND aggregate = ANY(coalesce($2, ARRAY[aggregate]))',
      [type, aggregates],
    );
    return Number(rows[0]?.n);
  });

/** Runs so many gated tasks together, step by step: each is approved once every one has asked. */
const runTogether = async ({ client, database }: System, atOnce: number): Promise<void> => {
  const ids = Array.from({ length: atOnce }, newTaskId);
  const asked: z.infer<typeof ApprovalRequested>[] = [];
  let completed = 0;
  const hearing = [
    client.connection.subscribe('hp.evt.approval.requested.*', {
      callback: (_error, msg) => void asked.push(ApprovalRequested.parse(msg.json())),
    }),
    client.connection.subscribe('hp.evt.task.completed.*', { callback: () => void (completed += 1) }),
  ];
  await client.connection.flush();
  const submissions = ids.map((id) =>
    client.ask('orchestrator', 'submit', {
      id,
      workflow: 'sample',
      goal: 'append a line',
      inputs: { file: 'sample.txt', line: 'a line' },
    }),
  );
  await Promise.all(submissions);
  await untilTrue('every task has asked', () => asked.length === atOnce);
  const decisions = asked.map(({ id, digest }) =>
    client.ask('approvals', 'decide', { id, digest, decision: 'approve' }),
  );
  await Promise.all(decisions);
  await untilTrue('every task has completed', () => completed === atOnce);
  for (const each of hearing) each.unsubscribe();
  const approvals = asked.map(({ id }) => id);
  await untilTrue(
    'every outcome is recorded',
    async () => (await countEvents(database, 'effect_outcome_recorded', approvals)) === atOnce,
  );
};

const round = (value: number): number => Math.round(value * 100) / 100;

/** How services are spread over processes: as one core, or each alone. */
type Form = 'core' | 'apart';

/** The costs of a task when this many are decided in each transaction. */
const measured = async (
  form: Form,
  atOnce: number,
  rounds: number,
): Promise<Readonly<Record<string, number>>> => {
  const system = await createSystem({ admin: postgres.admin, almightyMonitor: true });
  try {
    return await costsIn(system, form, atOnce, rounds);
  } finally {
    await system.stop();
  }
};

const costsIn = async (
  system: System,
  form: Form,
  atOnce: number,
  rounds: number,
): Promise<Readonly<Record<string, number>>> => {
  const fixed = atOnce === 1 ? {} : { HOLDPOINT_BATCH_MAX: String(atOnce), HOLDPOINT_TEST_GATHER_MS: '3000' };
  const others = form === 'core' ? (['core'] as const) : CORE_SERVICES;
  await Promise.all(others.map((service) => system.start(service, fixed)));
  // It enrols, and again when it starts anew: then its key is known, and it asks no more.
  for (const life of [1, 2]) {
    const executor = await system.start('executor', fixed);
    await untilTrue('the executor has enrolled', async () =>
      (await executor.lines()).some(({ msg }) => msg === 'the key of this executor is enrolled'),
    );
    if (life === 1) await executor.stop();
  }
  const monitor = await system.connect('monitor');
  // The first tasks fill caches, and give the audit log something for its first anchor.
  await runTogether(system, atOnce);
  await untilTrue(
    'the audit log is anchored',
    async () => (await countEvents(system.database, 'audit_anchored')) > 0,
  );
  // A table gets its map of free space at its fifth page. The server logs that map whole, once.
  await runTogether(system, Math.max(atOnce, GROWN_AFTER));
  const before = await costsSoFar(system, monitor);
  for (let done = 0; done < rounds; done += 1) await runTogether(system, atOnce);
  const after = await costsSoFar(system, monitor);
  const names = Object.keys(after) as readonly (keyof Costs)[];
  return Object.fromEntries(
    names.map((name) => [name, round((after[name] - before[name]) / (rounds * atOnce))]),
  );
};

test.each([
  ['apart', 1, 20],
  ['apart', 50, 2],
  ['core', 1, 20],
  ['core', 50, 2],
] as const)(
  'a gated task costs what its budget says, %s, with transactions of %i',
  async (form, atOnce, rounds) => {
    const name = `${form}, transactions of ${String(atOnce)}`;
    const budget = Budget.parse(JSON.parse(await readFile(BUDGET, 'utf8')))[name];
    const costs = await measured(form, atOnce, rounds);
    const wrong = Object.entries(costs).filter(([name, cost]) => {
      const allowed = budget?.[name] ?? Number.NaN;
      const slack = allowed * (TOLERANCE[name] ?? 0) + (BACKGROUND[name] ?? 0);
      return !(Math.abs(cost - allowed) <= slack);
    });
    expect(
      Object.fromEntries(wrong),
      `measured: ${JSON.stringify(costs)}; set ${BUDGET}, and say why`,
    ).toEqual({});
  },
);
