import { ApprovalStatus } from '@holdpoint/contracts/approval/status';
import { KEEP_DAYS, KEEP_MIN_DAYS } from '@holdpoint/contracts/api/retention';
import { SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { TaskPhase, isEndPhase } from '@holdpoint/contracts/task/status';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { setKeep } from '@holdpoint/infra/postgres/schemas';
import { createPurge } from '@holdpoint/runtime/store/purge';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Pool } from 'pg';
import { askOwner, endDaysAgo } from '../../kit/tasks/aged.ts';
import { commandLine } from '../../kit/command-line.ts';
import { createCountingEngine } from '../../kit/effects/counting-engine.ts';
import type { Database } from '../../kit/stack/databases.ts';
import { postgresStore, servicePool, storeDatabase } from '../../kit/stack/store-backing.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approveAndComplete, type SampleTask, submitSample, waitForRequest } from '../../kit/tasks/tasks.ts';
import { untilTrue } from '../../kit/until.ts';
import { append, timerOf } from '../../kit/effects/writes.ts';

const OLD = KEEP_DAYS + 1;

describe('a purge of one service', () => {
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

  let id: string;
  let count = 0;
  beforeEach(() => {
    count += 1;
    id = `aggregate-${String(count)}`;
  });

  const store = () => postgresStore(pool);
  const retire = () => createPurge(pool).run();
  const has = async (aggregate: string): Promise<readonly string[]> => {
    const { rows } = await pool.query<{ name: string }>(
      `SELECT 'heads' AS name FROM heads WHERE id = $1
       UNION ALL SELECT 'snapshots' FROM snapshots WHERE aggregate = $1
       UNION ALL SELECT 'events' FROM events WHERE aggregate = $1`,
      [aggregate],
    );
    return rows.map(({ name }) => name);
  };
  const ended = (aggregate: string) => {
    const snapshots = [{ aggregate, version: 1, state: '{}' }];
    return append(store(), aggregate, { snapshots });
  };
  const refusal = (statement: string): Promise<string> =>
    pool.query(statement).then(
      () => 'done',
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );

  test('a purge removes whole aggregates that ended before the limit and keeps the rest', async () => {
    const young = `${id}-young`;
    await ended(id);
    await ended(young);
    await endDaysAgo(database, 'recovery', [id], OLD);
    await endDaysAgo(database, 'recovery', [young], KEEP_DAYS - 1);
    expect(await retire()).toBe(1);
    expect(await has(id)).toEqual([]);
    expect(await has(young)).toEqual(['heads', 'snapshots', 'events']);
  });

  test('a purge removes more than one batch, the oldest first', async () => {
    const ids = Array.from({ length: 600 }, (_, i) => `${id}-${String(i)}`);
    await pool.query(
      `INSERT INTO heads (id, kind, version, status) SELECT unnest($1::text[]), 'attempts', 1, 'assessed'`,
      [ids],
    );
    await endDaysAgo(database, 'recovery', ids.slice(0, 300), OLD);
    await endDaysAgo(database, 'recovery', ids.slice(300), OLD + 10);
    const [first] = await askOwner<{ n: number }>(database, 'SELECT recovery.purge(300) AS n');
    expect(first?.n).toBe(300);
    const { rows } = await pool.query<{ id: string }>('SELECT id FROM heads WHERE id = ANY ($1)', [ids]);
    expect(rows.map((row) => row.id).toSorted()).toEqual(ids.slice(0, 300).toSorted());
    expect(await retire()).toBe(300);
  });

  test('an aggregate with a timer stays until the timer is gone', async () => {
    await append(store(), id, { timersSet: [timerOf(id, 'later', Date.now() + 3_600_000)] });
    await endDaysAgo(database, 'recovery', [id], OLD);
    expect(await retire()).toBe(0);
    await pool.query('DELETE FROM timers WHERE aggregate = $1', [id]);
    expect(await retire()).toBe(1);
  });

  test('an aggregate that changed after the oldest outbox message stays', async () => {
    await append(store(), id);
    await endDaysAgo(database, 'recovery', [id], OLD);
    await pool.query('DELETE FROM outbox');
    await pool.query(
      `INSERT INTO outbox (messages, event_ranges, created_at) VALUES ('[]', '[]', now() - make_interval(days => $1))`,
      [OLD + 1],
    );
    expect(await retire()).toBe(0);
    await pool.query('DELETE FROM outbox');
    expect(await retire()).toBe(1);
  });

  test('a locked aggregate stays, and the purge does not wait for it', async () => {
    await append(store(), id);
    await append(store(), `${id}-other`);
    await endDaysAgo(database, 'recovery', [id, `${id}-other`], OLD);
    const transaction = await store().lock([id]);
    expect(await retire()).toBe(1);
    await transaction.rollback();
    expect(await retire()).toBe(1);
  });

  test('a transaction on another aggregate does not wait for a purge', async () => {
    const others = Array.from({ length: 50 }, (_, i) => `${id}-${String(i)}`);
    await pool.query(
      `INSERT INTO heads (id, kind, version, status) SELECT unnest($1::text[]), 'attempts', 1, 'assessed'`,
      [others],
    );
    await endDaysAgo(database, 'recovery', others, OLD);
    const went = await withAdmin(database.admin, async (client) => {
      await client.query('BEGIN');
      const { rows } = await client.query<{ n: number }>('SELECT recovery.purge(1000) AS n');
      // During that transaction. A lock conflict would end these with an error after two seconds.
      await append(store(), id);
      await append(store(), id);
      await client.query('COMMIT');
      return rows[0]?.n;
    });
    expect(went).toBe(50);
    expect(await has(id)).toEqual(['heads', 'events', 'events']);
  });

  test('a change after the end restarts the retention period', async () => {
    await append(store(), id);
    await endDaysAgo(database, 'recovery', [id], OLD);
    await append(store(), id);
    expect(await retire()).toBe(0);
  });

  test('a reused id is not mistaken for its purged aggregate', async () => {
    const engines = [createCountingEngine(store()), createCountingEngine(store())] as const;
    await engines[0].tell(id, 'old');
    await endDaysAgo(database, 'recovery', [id], OLD);
    expect(await retire()).toBe(1);
    // The first engine still has the purged version 1 in its cache; the second one creates a new version 1.
    await engines[1].tell(id, 'new');
    await engines[0].tell(id, 'old');
    const { rows } = await pool.query<{ name: string }>(
      `SELECT data->>'name' AS name FROM events WHERE aggregate = $1 ORDER BY version`,
      [id],
    );
    expect(rows.map(({ name }) => name)).toEqual(['new', 'old']);
  });

  test('the service can neither set the retention, backdate an end nor delete an event', async () => {
    await append(store(), id);
    expect(await refusal(`UPDATE retention SET keep = '4 days'`)).toBe(
      'permission denied for table retention',
    );
    expect(await refusal('DELETE FROM retention')).toBe('permission denied for table retention');
    expect(await refusal(`INSERT INTO retention (one, keep) VALUES (false, '4 days')`)).toBe(
      'permission denied for table retention',
    );
    expect(await refusal('DELETE FROM event_runs')).toBe('permission denied for table event_runs');
    expect(await refusal('ALTER TABLE heads DISABLE TRIGGER ALL')).toBe('must be owner of table heads');
    await pool.query(`UPDATE heads SET finished_at = now() - interval '1 year' WHERE id = $1`, [id]);
    await pool.query(
      `INSERT INTO heads (id, kind, version, status, finished_at) VALUES ($1, 'attempts', 1, 'assessed', now() - interval '1 year')`,
      [`${id}-made-up`],
    );
    // Nor for an aggregate that has not ended.
    await pool.query(
      `INSERT INTO heads (id, kind, version, status, finished_at) VALUES ($1, 'attempts', 1, 'open', now() - interval '1 year')`,
      [`${id}-open`],
    );
    expect(await retire()).toBe(0);
    await pool.query(
      `UPDATE heads SET status = 'open', finished_at = now() - interval '1 year' WHERE id = $1`,
      [`${id}-open`],
    );
    expect(await retire()).toBe(0);
  });

  test('the service cannot redirect the purge function with tables of its own', async () => {
    const [made] = await askOwner<{ config: readonly string[]; owner: string; definer: boolean }>(
      database,
      `SELECT proconfig AS config, proowner::regrole::text AS owner, prosecdef AS definer
         FROM pg_proc WHERE oid = 'recovery.purge'::regproc`,
    );
    expect(made).toEqual({
      config: ['search_path=recovery, pg_temp'],
      owner: 'hp_owner',
      definer: true,
    });
  });

  test.each(SERVICES)('the owner of %s sets the retention, but not below the minimum', async (service) => {
    const keep = async () =>
      (
        await askOwner<{ days: number }>(
          database,
          `SELECT extract(day FROM keep)::int AS days FROM ${service}.retention`,
        )
      )[0]?.days;
    expect(await keep()).toBe(KEEP_DAYS);
    await withAdmin(database.admin, (client) => setKeep(client, service, KEEP_MIN_DAYS));
    expect(await keep()).toBe(KEEP_MIN_DAYS);
    await expect(
      withAdmin(database.admin, (client) => setKeep(client, service, KEEP_MIN_DAYS - 1)),
    ).rejects.toThrow(/retention_floor/);
    await withAdmin(database.admin, (client) => setKeep(client, service, KEEP_DAYS));
  });

  const STATUSES: Readonly<Record<ServiceName, Readonly<Record<string, boolean>>>> = {
    orchestrator: Object.fromEntries(TaskPhase.options.map((phase) => [phase, isEndPhase(phase)])),
    approvals: {
      ...Object.fromEntries(ApprovalStatus.options.map((status) => [status, status !== 'pending'])),
      withdrawn: true,
    },
    executor: {
      prepared: false,
      started: false,
      applied: true,
      failed_clean: true,
      not_applied: true,
      in_doubt: true,
      cancelled: true,
      refused: true,
    },
    recovery: { assessed: true },
  };
  test.each(SERVICES)('the final statuses of %s are those of its deciders', async (service) => {
    const statuses = STATUSES[service];
    const rows = await withAdmin(database.admin, async (client) => {
      await client.query('BEGIN');
      // By a later change, as most aggregates end.
      await client.query(
        `INSERT INTO ${service}.heads (id, kind, version, status) SELECT unnest($1::text[]), 'any', 1, 'not yet'`,
        [Object.keys(statuses)],
      );
      await client.query(`UPDATE ${service}.heads SET status = id WHERE status = 'not yet'`);
      const found = await client.query<{ id: string; over: boolean }>(
        `SELECT id, finished_at IS NOT NULL AS over FROM ${service}.heads WHERE id = ANY ($1)`,
        [Object.keys(statuses)],
      );
      await client.query('ROLLBACK');
      return found.rows;
    });
    expect(Object.fromEntries(rows.map(({ id: status, over }) => [status, over]))).toEqual(statuses);
  });

  test('an aggregate that continues after its end is open again', async () => {
    const over = async (status: string) =>
      (
        await askOwner<{ over: boolean }>(
          database,
          `INSERT INTO executor.heads (id, kind, version, status) VALUES ($1, 'effect', 1, $2)
             ON CONFLICT (id) DO UPDATE SET status = excluded.status RETURNING finished_at IS NOT NULL AS over`,
          [id, status],
        )
      )[0]?.over;
    expect([await over('failed_clean'), await over('started'), await over('applied')]).toEqual([
      true,
      false,
      true,
    ]);
  });
});

describe('a purge of a whole task', () => {
  let system: System;
  beforeAll(async () => {
    system = await createSystem();
    await system.startAll();
  });
  afterAll(() => system.stop());

  const retireAll = async (): Promise<void> => {
    for (const service of SERVICES) await askOwner(system.database, `SELECT ${service}.purge(1000)`);
  };
  const left = async ({ id, approval, effect }: SampleTask): Promise<readonly string[]> => {
    const rows = await askOwner<{ name: string }>(
      system.database,
      `SELECT 'task' AS name FROM orchestrator.heads WHERE id = $1
       UNION ALL SELECT 'approval' FROM approvals.heads WHERE id = $2
       UNION ALL SELECT 'effect' FROM executor.heads WHERE id = $3
       UNION ALL SELECT 'attempts' FROM recovery.heads WHERE id = $1
       UNION ALL SELECT DISTINCT 'events' FROM (
         SELECT aggregate FROM orchestrator.events UNION ALL SELECT aggregate FROM approvals.events
         UNION ALL SELECT aggregate FROM executor.events UNION ALL SELECT aggregate FROM recovery.events) e
        WHERE aggregate IN ($1, $2, $3)`,
      [id, approval, effect],
    );
    return rows.map(({ name }) => name);
  };
  const completed = async (): Promise<SampleTask> => {
    const task = await submitSample(system.client);
    await approveAndComplete(system.client, task);
    // The outcome of the effect ends the approval once more.
    await untilTrue('the outcome is recorded', async () => {
      const rows = await askOwner(
        system.database,
        "SELECT FROM approvals.events WHERE aggregate = $1 AND type = 'effect_outcome_recorded'",
        [task.approval],
      );
      return rows.length > 0;
    });
    return task;
  };
  const codeOf = (asked: Promise<unknown>): Promise<string> =>
    asked.then(
      () => 'answered',
      (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : String(error)),
    );

  test('a purged task leaves nothing, and queries answer that it is unknown', async () => {
    const { client, database } = system;
    const task = await completed();
    await endDaysAgo(database, 'orchestrator', [task.id], OLD);
    await endDaysAgo(database, 'approvals', [task.approval], OLD);
    await endDaysAgo(database, 'executor', [task.effect], OLD);
    await retireAll(); // what belongs to it
    await retireAll(); // and then the task
    expect(await left(task)).toEqual([]);
    expect(
      await Promise.all([
        codeOf(client.ask('orchestrator', 'get', { id: task.id })),
        codeOf(client.ask('orchestrator', 'history', { id: task.id })),
        codeOf(client.ask('approvals', 'get', { id: task.approval })),
        codeOf(client.ask('executor', 'get', { id: task.effect })),
        codeOf(client.ask('orchestrator', 'cancel', { id: task.id })),
      ]),
    ).toEqual([
      'ORCHESTRATOR_UNKNOWN_TASK',
      'ORCHESTRATOR_UNKNOWN_TASK',
      'APPROVALS_UNKNOWN',
      'EXECUTOR_UNKNOWN_EFFECT',
      'ORCHESTRATOR_UNKNOWN_TASK',
    ]);
  });

  test('the lines of the audit log stay, and the log verifies', async () => {
    const { client, database } = system;
    const task = await completed();
    // The hash of the stored event goes with the event; the rest of its line stays.
    const linesOf = async () =>
      (await client.ask('approvals', 'audit', { about: task.approval })).items.map(
        ({ storedSha256: _gone, ...line }) => line,
      );
    await untilTrue('its outcome is recorded', async () =>
      (await linesOf()).some(({ type }) => type === 'effect_outcome_recorded'),
    );
    const before = await linesOf();
    await endDaysAgo(database, 'orchestrator', [task.id], OLD);
    await endDaysAgo(database, 'approvals', [task.approval], OLD);
    await retireAll();
    expect(await left(task)).not.toContain('approval');
    expect(await linesOf()).toEqual(before);
    expect((await commandLine(system)('audit', 'verify')).out).toMatch(/^audit log intact/);
  });

  test('a task is purged last: its id stays reserved while anything of it is left', async () => {
    const task = await completed();
    await endDaysAgo(system.database, 'orchestrator', [task.id], OLD);
    await endDaysAgo(system.database, 'executor', [task.effect], OLD);
    await retireAll();
    await retireAll();
    expect(await left(task)).toEqual(['task', 'approval', 'events']);
    await endDaysAgo(system.database, 'approvals', [task.approval], OLD);
    await retireAll();
    await retireAll();
    expect(await left(task)).toEqual([]);
  });

  test('the effect and the approval of a task stay while it may still order them', async () => {
    const task = await completed();
    await endDaysAgo(system.database, 'approvals', [task.approval], OLD);
    await endDaysAgo(system.database, 'executor', [task.effect], OLD);
    await askOwner(system.database, `UPDATE orchestrator.heads SET status = 'paused' WHERE id = $1`, [
      task.id,
    ]);
    await retireAll();
    expect(await left(task)).toEqual(['task', 'approval', 'effect', 'events']);
  });

  test('a task that has not ended is never purged', async () => {
    const task = await submitSample(system.client);
    await waitForRequest(system.client, task);
    const rows = await askOwner<{ finished: unknown }>(
      system.database,
      `SELECT finished_at AS finished FROM orchestrator.heads WHERE id = $1
       UNION ALL SELECT finished_at FROM approvals.heads WHERE id = $2`,
      [task.id, task.approval],
    );
    expect(rows).toEqual([{ finished: null }, { finished: null }]);
    await retireAll();
    expect(await left(task)).toEqual(['task', 'approval', 'events']);
  });

  test('the services purge by themselves while they work', async () => {
    const task = await completed();
    await endDaysAgo(system.database, 'orchestrator', [task.id], OLD);
    await endDaysAgo(system.database, 'approvals', [task.approval], OLD);
    await untilTrue('the approval is gone', async () => !(await left(task)).includes('approval'));
    await completed();
  });
});
