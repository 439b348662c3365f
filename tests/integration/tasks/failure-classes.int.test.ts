import type { FailureBucket } from '@holdpoint/contracts/recovery/views';
import type { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { countClasses } from '@holdpoint/recovery/queries/classes';
import type { StoredEvent } from '@holdpoint/runtime/engine/ports';
import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { askOwner } from '../../kit/tasks/aged.ts';
import { publish } from '../../kit/bus/consumers.ts';
import type { Database } from '../../kit/stack/databases.ts';
import { postgresStore, servicePool, storeDatabase } from '../../kit/stack/store-backing.ts';
import { createSystem } from '../../kit/stack/system.ts';
import { untilTrue } from '../../kit/until.ts';
import { commitTo, headsOf } from '../../kit/effects/writes.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Midnight in UTC. */
const MIDNIGHT = Date.UTC(2026, 0, 15);

let database: Database;
let pool: Pool;
beforeAll(async () => {
  database = await storeDatabase();
  pool = await servicePool(database);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** A failure as the service stores it. `said`: the time of its first classification, if that was earlier. */
const failed = (
  task: string,
  { version = 1, at, said = at, as }: { version?: number; at: number; said?: number; as?: FailureClass },
): StoredEvent => {
  const data = {
    type: 'assessed',
    task,
    node: 'build',
    attempt: 1,
    at: said,
    output: 'said "verdict": {"class":"no"}',
    ...(as && { verdict: { kind: 'retry', class: as } }),
  };
  return {
    kind: 'attempts',
    aggregate: task,
    version,
    type: 'assessed',
    at,
    trace: undefined,
    body: JSON.stringify(data),
  };
};

/** Stores each failure in a transaction of its own, as different tasks do. */
const store = async (...failures: readonly (readonly [at: number, as?: FailureClass])[]): Promise<void> => {
  for (const [at, as] of failures) {
    const { rows } = await pool.query<{ n: number }>('SELECT count(*)::int AS n FROM heads');
    const task = `t-${String(rows[0]?.n)}`;
    await commitTo(postgresStore(pool), task, () => {
      const events = [failed(task, { at, ...(as && { as }) })];
      return { events, heads: headsOf(events) };
    });
  }
};

const counted = async (from: number, to: number, bucket: FailureBucket) =>
  (await countClasses(pool, { from, to, bucket })).items.map(
    ({ at, class: each, count }) => [(at - MIDNIGHT) / HOUR, each, count] as const,
  );

describe('failures', () => {
  beforeEach(() =>
    askOwner(database, 'TRUNCATE recovery.heads, recovery.event_runs, recovery.failure_counts'),
  );

  test('failures are counted by class in UTC hours and days, each bucket including its first moment', async () => {
    await store(
      [MIDNIGHT - 1, 'TRANSIENT'],
      [MIDNIGHT, 'TRANSIENT'],
      [MIDNIGHT + 1, 'BROKEN_BUILD'],
      [MIDNIGHT + HOUR - 1, 'TRANSIENT'],
      [MIDNIGHT + HOUR, 'TRANSIENT'],
      [MIDNIGHT + DAY, 'UNKNOWN'],
    );
    expect(await counted(MIDNIGHT - DAY, MIDNIGHT + 2 * DAY, 'hour')).toEqual([
      [-1, 'TRANSIENT', 1],
      [0, 'BROKEN_BUILD', 1],
      [0, 'TRANSIENT', 2],
      [1, 'TRANSIENT', 1],
      [24, 'UNKNOWN', 1],
    ]);
    expect(await counted(MIDNIGHT - DAY, MIDNIGHT + 2 * DAY, 'day')).toEqual([
      [-24, 'TRANSIENT', 1],
      [0, 'BROKEN_BUILD', 1],
      [0, 'TRANSIENT', 3],
      [24, 'UNKNOWN', 1],
    ]);
    // The result has whole buckets, also for a small part of one, and none beyond the range.
    expect(await countClasses(pool, { from: MIDNIGHT + 5, to: MIDNIGHT + 6, bucket: 'hour' })).toEqual({
      from: MIDNIGHT,
      to: MIDNIGHT + HOUR,
      bucket: 'hour',
      items: [
        { at: MIDNIGHT, class: 'BROKEN_BUILD', count: 1 },
        { at: MIDNIGHT, class: 'TRANSIENT', count: 2 },
      ],
    });
  });

  test('a failure is counted once despite a later classification, and one without a class not at all', async () => {
    const [task, at] = ['t-again', MIDNIGHT];
    await store([at]);
    for (const event of [
      failed(task, { at, as: 'TRANSIENT' }),
      failed(task, { version: 2, at: at + HOUR, said: at, as: 'TRANSIENT' }),
    ])
      await commitTo(postgresStore(pool), task, () => ({ events: [event], heads: headsOf([event]) }));
    expect(await counted(at, at + DAY, 'hour')).toEqual([[0, 'TRANSIENT', 1]]);
  });

  test('failures of several tasks in one batch and of several batches at once are all counted', async () => {
    const tasks = Array.from({ length: 60 }, (_, i) => `t-many-${String(i)}`);
    const classes = ['UNKNOWN', 'TRANSIENT', 'WORKER_CRASH'] as const;
    await Promise.all(
      [0, 1, 2, 3, 4, 5].map(async (batch) => {
        const own = tasks.slice(batch * 10, batch * 10 + 10);
        const events = own.map((task, i) =>
          failed(task, { at: MIDNIGHT + i * (HOUR / 5), as: classes[(i + batch) % 3] ?? 'UNKNOWN' }),
        );
        const transaction = await postgresStore(pool).lock(own);
        await transaction.commit({
          events,
          heads: headsOf(events),
          announced: [],
          outbox: [],
          outboxConfirmed: [],
          snapshots: [],
          timersSet: [],
          timersCleared: [],
        });
      }),
    );
    const found = await counted(MIDNIGHT, MIDNIGHT + DAY, 'hour');
    expect(found.map(([hour, each]) => [hour, each])).toEqual(
      [0, 1].flatMap((hour) => classes.toSorted().map((each) => [hour, each])),
    );
    expect(found.reduce((sum, [, , count]) => sum + count, 0)).toBe(60);
  });

  test('counts survive the purge of their task and expire after 400 days', async () => {
    await store([MIDNIGHT, 'TRANSIENT']);
    await askOwner(database, 'DELETE FROM recovery.event_runs');
    await askOwner(
      database,
      `INSERT INTO recovery.failure_counts VALUES ($1, 'UNKNOWN', 7), ($2, 'UNKNOWN', 7)`,
      [Math.floor(Date.now() / HOUR) * HOUR - 401 * DAY, Math.floor(Date.now() / HOUR) * HOUR - 399 * DAY],
    );
    await store([MIDNIGHT, 'TRANSIENT']);
    expect(await counted(MIDNIGHT, MIDNIGHT + DAY, 'day')).toEqual([[0, 'TRANSIENT', 2]]);
    const { rows } = await pool.query('SELECT FROM failure_counts WHERE count = 7');
    expect(rows.length).toBe(1);
  });

  test('the service cannot change the counts: only the database does', async () => {
    for (const change of [
      `INSERT INTO failure_counts VALUES (0, 'UNKNOWN', 1)`,
      'UPDATE failure_counts SET count = 0',
      'DELETE FROM failure_counts',
    ])
      await expect(pool.query(change)).rejects.toThrow(/permission denied/);
  });

  test('a query for a month uses the index, whatever else was counted', async () => {
    await askOwner(
      database,
      `INSERT INTO recovery.failure_counts
       SELECT $1::bigint - h * 3600000::bigint, c, 100 FROM generate_series(0, 9599) h, unnest($2::text[]) c`,
      [MIDNIGHT, ['TRANSIENT', 'UNKNOWN', 'BROKEN_BUILD', 'WORKER_CRASH']],
    );
    await askOwner(database, 'ANALYZE recovery.failure_counts');
    const { rows } = await pool.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN SELECT hour, class, sum(count) FROM failure_counts WHERE hour >= $1 AND hour < $2 GROUP BY 1, 2`,
      [MIDNIGHT - 31 * DAY, MIDNIGHT],
    );
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('failure_counts_pkey');
    const { items } = await countClasses(pool, {
      from: MIDNIGHT - 31 * DAY,
      to: MIDNIGHT,
      bucket: 'day',
    });
    expect(items.length).toBe(31 * 4);
    expect(items.every(({ count }) => count === 2_400)).toBe(true);
  });
});

test('the API returns the counts by class and refuses a range that is too large', async () => {
  const system = await createSystem();
  try {
    await system.startAll();
    const bus = await system.connect('orchestrator');
    const failure = {
      task: 't-counted',
      node: 'build',
      attempt: 1,
      outcome: 'failed',
      error: { code: 'NODE_FAILED', message: 'exit code 1' },
    };
    const say = (more: object) =>
      publish(bus, subjects.recoveryCommand('assess'), JSON.stringify({ ...failure, ...more }));
    const from = Date.now() - 2 * HOUR;
    const count = async () =>
      (await system.client.ask('recovery', 'failure_counts', { from, to: from + 4 * HOUR, bucket: 'hour' }))
        .items;
    await say({});
    await untilTrue('it is counted', async () => (await count()).length > 0);
    const first = await count();
    expect(first).toMatchObject([{ class: 'UNKNOWN', count: 1 }]);
    // The same failure again, and a verdict that cannot be followed.
    await say({});
    await say({ refused: 'there is nothing to go back to' });
    await untilTrue('it is escalated', async () => {
      const { items } = await system.client.ask('recovery', 'history', { task: failure.task });
      return items.some(({ verdict }) => verdict?.kind === 'escalate');
    });
    expect(await count()).toEqual(first);
    const ask = (request: { from: number; to: number; bucket?: FailureBucket }) =>
      system.client.ask('recovery', 'failure_counts', request);
    await expect(ask({ from: 5, to: 5 })).rejects.toMatchObject({ code: 'CONTRACT_INVALID' });
    await expect(ask({ from: 0, to: 400 * DAY + 1 })).rejects.toMatchObject({ code: 'CONTRACT_INVALID' });
    await expect(ask({ from: 0, to: 401 * HOUR, bucket: 'hour' })).rejects.toMatchObject({
      code: 'CONTRACT_INVALID',
    });
    expect(await ask({ from: 1, to: 400 * DAY })).toEqual({
      from: 0,
      to: 400 * DAY,
      bucket: 'day',
      items: [],
    });
  } finally {
    await system.stop();
  }
});
