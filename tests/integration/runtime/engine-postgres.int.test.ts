import { withAdmin } from '@holdpoint/infra/postgres/admin';
import {
  CommitUnknown,
  Conflict,
  DataRefused,
  type Store,
  type StoredEvent,
} from '@holdpoint/runtime/engine/ports';
import { readHistoryPage, readState } from '@holdpoint/runtime/store/read';
import { statements } from '@holdpoint/runtime/store/statements';
import type { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createCountingEngine, notesDecider } from '../../kit/effects/counting-engine.ts';
import type { Database } from '../../kit/stack/databases.ts';
import { type FaultProxy, startFaultProxy } from '../../torture/fault-proxy.ts';
import { postgresStore, servicePool, storeDatabase } from '../../kit/stack/store-backing.ts';
import { untilTrue } from '../../kit/until.ts';
import { append, commitTo, eventOf, timerOf, writeOf } from '../../kit/effects/writes.ts';

/** The tag of the server's answer to COMMIT. */
const COMMITTED = 'COMMIT\0';

let database: Database;
let direct: Pool;
beforeAll(async () => {
  database = await storeDatabase();
  direct = await servicePool(database);
});
afterAll(async () => {
  await direct.end();
  await database.drop();
});

let proxy: FaultProxy;
let pool: Pool;
let store: Store;
let id: string;
let count = 0;
beforeEach(async () => {
  proxy = await startFaultProxy(database.admin.host, database.admin.port);
  pool = await servicePool(database, proxy);
  store = postgresStore(pool);
  count += 1;
  id = `aggregate-${String(count)}`;
});
afterEach(async () => {
  await pool.end();
  await proxy.close();
});

const eventsOf = async (aggregate: string): Promise<readonly string[]> => {
  const { rows } = await direct.query<{ name: string }>(
    `SELECT data->>'name' AS name FROM events WHERE aggregate = $1 ORDER BY version`,
    [aggregate],
  );
  return rows.map(({ name }) => name);
};
/** Events of one decision. */
const eventsAt = (aggregate: string, howMany: number, text = ''): readonly StoredEvent[] =>
  Array.from({ length: howMany }, (_, index) => ({ ...eventOf(aggregate, index + 1, { text }), at: 1_000 }));
const outboxRows = async (): Promise<number> => (await direct.query('SELECT 1 FROM outbox')).rowCount ?? 0;
const clearOutbox = () => direct.query('DELETE FROM outbox');
const somebodyWaits = async (): Promise<boolean> => {
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'`;
  return withAdmin(
    database.admin,
    async (client) => (await client.query(waiting, [database.name])).rowCount !== 0,
  );
};

describe('a commit without an answer', () => {
  test('a commit without an answer is unknown and may have succeeded', async () => {
    const cut = proxy.cutOn('to_client', COMMITTED);
    await expect(append(store, id)).rejects.toBeInstanceOf(CommitUnknown);
    await cut;
    expect(await eventsOf(id)).toHaveLength(1);
    expect((await append(store, id)).version).toBe(2);
  });

  test('a commit that never arrived is unknown and did not succeed', async () => {
    const cut = proxy.cutOn('to_server', 'COMMIT');
    await expect(append(store, id)).rejects.toBeInstanceOf(CommitUnknown);
    await cut;
    expect(await eventsOf(id)).toEqual([]);
    expect((await append(store, id)).version).toBe(1);
  });

  test.each([
    ['but succeeded', 'to_client', COMMITTED],
    ['and did not succeed', 'to_server', 'COMMIT'],
  ] as const)(
    'a message whose commit has no answer %s is decided again without duplicates',
    async (_title, direction, bytes) => {
      await clearOutbox();
      const { engine, tell, published, failures } = createCountingEngine(store);
      const cut = proxy.cutOn(direction, bytes);
      const outcomes = await Promise.all([tell(id, 'one'), tell(id, 'two'), tell(id, 'one')]);
      await cut;
      expect(outcomes).toEqual(['settled', 'settled', 'settled']);
      expect(await eventsOf(id)).toEqual(['one', 'two']);
      expect(failures).toEqual([]);
      // The messages of the lost answer are in the outbox, and the next sweep publishes them.
      await untilTrue('the outbox is swept', async () => {
        await engine.sweep(0);
        return (await outboxRows()) === 0;
      });
      expect(new Set(published())).toEqual(new Set([`recovery.${id}.1`, `recovery.${id}.2`]));
    },
  );
});

describe('a lost connection', () => {
  test('a connection lost before the commit gives the batch back, and the next attempt succeeds', async () => {
    const { tell, failures } = createCountingEngine(store);
    const cut = proxy.cutOn('to_server', 'BEGIN');
    expect(await tell(id, 'one')).toBe('unavailable');
    await cut;
    expect(failures).toHaveLength(1);
    expect(await tell(id, 'one')).toBe('settled');
    expect(await eventsOf(id)).toEqual(['one']);
  });

  test('a connection that the server ends during a lock wait gives the batch back', async () => {
    const { tell } = createCountingEngine(store);
    await tell(id, 'one');
    const holder = await postgresStore(direct).lock([id]);
    const outcome = tell(id, 'two');
    const terminate = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'`;
    await untilTrue('the waiting connection is ended', () =>
      withAdmin(
        database.admin,
        async (client) => (await client.query(terminate, [database.name])).rowCount === 1,
      ),
    );
    expect(await outcome).toBe('unavailable');
    await holder.rollback();
    expect(await tell(id, 'two')).toBe('settled');
    expect(await eventsOf(id)).toEqual(['one', 'two']);
  });
});

describe('data that the database refuses', () => {
  test('data that the database refuses is an invalid-data error', async () => {
    const write = commitTo(store, id, () => ({
      events: [eventOf(id, 1)],
      timersSet: [timerOf(id, 'a\0b', 1)],
    }));
    await expect(write).rejects.toBeInstanceOf(DataRefused);
    expect(await eventsOf(id)).toEqual([]);
  });

  test('a message with refused data fails alone, and the rest of its batch succeeds', async () => {
    const { tell } = createCountingEngine(store);
    const others = ['x', 'y', 'z'].map((name) => `${id}-${name}`);
    // The first message is a batch of its own; the others gather during its commit.
    const first = tell(`${id}-first`, 'one');
    const rest = Promise.all([
      tell(others[0] ?? '', 'one'),
      tell(id, 'bad', 'a\0b'),
      tell(others[1] ?? '', 'one'),
      tell(others[2] ?? '', 'one'),
    ]);
    expect(await first).toBe('settled');
    expect(await rest).toEqual([
      'settled',
      expect.objectContaining({ code: 'RUNTIME_POISON' }),
      'settled',
      'settled',
    ]);
    expect(await eventsOf(id)).toEqual([]);
    for (const other of others) expect(await eventsOf(other)).toEqual(['one']);
  });

  test('refused data of an undecodable message fails alone too', async () => {
    const { tell } = createCountingEngine(store);
    const outcomes = await Promise.all([tell(id, 'one'), tell(id, 'throw'), tell(id, 'two')]);
    expect(outcomes).toEqual(['settled', expect.objectContaining({ code: 'RUNTIME_POISON' }), 'settled']);
    expect(await eventsOf(id)).toEqual(['one', 'two']);
  });
});

describe('the events of a decision', () => {
  test('a page of a history begins after any event of a decision', async () => {
    await commitTo(store, id, () => ({ events: eventsAt(id, 200) }));
    for (const after of [0, 1, 62, 63, 64, 65, 128, 197]) {
      const { events: page, version, more } = await readHistoryPage(direct, id, { after, limit: 3 });
      expect(page.map((event) => event.version)).toEqual([after + 1, after + 2, after + 3]);
      expect(page.map(({ data, at, type }) => [data['version'], at, type])).toEqual(
        page.map((event) => [event.version, 1_000, 'happened']),
      );
      expect([version, more]).toEqual([200, after < 197]);
    }
    expect(await readHistoryPage(direct, id, { after: 200, limit: 3 })).toEqual({
      events: [],
      version: 200,
      more: false,
    });
  });

  test('events share a row up to a number and a size, so that none is far from its start', async () => {
    const many = eventsAt(id, 130);
    await commitTo(store, id, () => ({ events: many }));
    const large = `${id}-large`;
    await commitTo(store, large, () => ({ events: eventsAt(large, 5, 'x'.repeat(20_000)) }));
    const rows = async (aggregate: string): Promise<readonly unknown[]> =>
      (
        await direct.query<{ first: number; events: number }>(
          'SELECT first, json_array_length(events) AS events FROM event_runs WHERE aggregate = $1 ORDER BY first',
          [aggregate],
        )
      ).rows.map(({ first, events }) => [first, events]);
    expect(await rows(id)).toEqual([
      [1, 64],
      [65, 64],
      [129, 2],
    ]);
    expect(await rows(large)).toEqual([
      [1, 2],
      [3, 2],
      [5, 1],
    ]);
  });
});

test('on a connection of keyed statements no write is planned for its values', async () => {
  const keyed = await servicePool(database, database.admin, true);
  try {
    const writer = postgresStore(keyed);
    for (let commit = 0; commit < 12; commit += 1) await append(writer, id);
    const { rows } = await keyed.query(
      `SELECT sum(generic_plans)::int AS generic, sum(custom_plans)::int AS custom
         FROM pg_prepared_statements WHERE name LIKE 'hp_write%'`,
    );
    expect(rows).toEqual([{ generic: 12, custom: 0 }]);
  } finally {
    await keyed.end();
  }
});

describe('two replicas', () => {
  test('one of two replicas that create the same aggregate at once has a conflict', async () => {
    const [one, two] = await Promise.all([store.lock([id]), postgresStore(direct).lock([id])]);
    const both = await Promise.allSettled(
      [one, two].map((each) => each.commit(writeOf({ events: [eventOf(id, 1)] }))),
    );
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(both.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: expect.any(Conflict) as Conflict,
    });
  });

  test('two replicas take turns and decide each message once', async () => {
    const replicas = [
      createCountingEngine(store, { snapshotEvery: 7 }),
      createCountingEngine(postgresStore(direct), { snapshotEvery: 7 }),
    ];
    const names = Array.from({ length: 50 }, (_, i) => `name-${String(i)}`);
    const outcomes: string[] = [];
    // Each message goes to both engines, over several batches.
    for (let i = 0; i < names.length; i += 10) {
      const some = names.slice(i, i + 10);
      const outcomesOfAll = await Promise.all(
        replicas.flatMap(({ tell }) => some.map((name) => tell(id, name))),
      );
      outcomes.push(
        ...outcomesOfAll.map((outcome) => (typeof outcome === 'string' ? outcome : outcome.code)),
      );
    }
    expect(new Set(outcomes)).toEqual(new Set(['settled']));
    expect((await eventsOf(id)).toSorted()).toEqual(names.toSorted());
    expect((await readState(direct, notesDecider, id)).names.toSorted()).toEqual(names.toSorted());
  });

  test('two replicas fire a timer once', async () => {
    const replicas = [createCountingEngine(store), createCountingEngine(postgresStore(direct))];
    await replicas[0]?.tell(id, 'one', 'fired');
    await untilTrue('the timer has fired', async () => {
      for (const { engine } of replicas) engine.tick();
      await Promise.all(replicas.map(({ engine }) => engine.idle()));
      return (await eventsOf(id)).length > 1;
    });
    expect(await eventsOf(id)).toEqual(['one', 'fired']);
    const timers = await direct.query('SELECT 1 FROM timers WHERE aggregate = $1', [id]);
    expect(timers.rowCount).toBe(0);
  });

  test('a replica that cannot decide a timer keeps it for later', async () => {
    const { engine, tell, timerFailures } = createCountingEngine(store);
    await tell(id, 'one', 'throw');
    await untilTrue('the timer has failed', async () => {
      engine.tick();
      await engine.idle();
      return timerFailures.length > 0;
    });
    const { rows } = await direct.query<{ later: boolean }>(
      'SELECT due_at > now() AS later FROM timers WHERE aggregate = $1',
      [id],
    );
    expect(rows).toEqual([{ later: true }]);
  });
});

describe('an unconfirmed publication', () => {
  test('an unconfirmed row stays in the outbox and is published again with the same ids until confirmed', async () => {
    await clearOutbox();
    const { engine, tell, published, confirms } = createCountingEngine(store);
    confirms(false);
    await tell(id, 'one');
    await engine.idle();
    expect(await outboxRows()).toBe(1);
    confirms(true);
    // Another replica could publish it as well, because the state is in the database.
    const other = createCountingEngine(postgresStore(direct));
    await untilTrue('the outbox is swept', async () => {
      await other.engine.sweep(0);
      return (await outboxRows()) === 0;
    });
    expect(published()).toEqual([`recovery.${id}.1`]);
    expect(other.published()).toEqual([`recovery.${id}.1`]);
  });

  test('an unconfirmed row is claimed by one of two sweepers, even before the claim is committed', async () => {
    await clearOutbox();
    await append(store, id);
    const first = await direct.connect();
    try {
      await first.query('BEGIN');
      const claimed = await first.query({ ...statements.claimOutbox, values: [0, 60_000, 100] });
      expect(claimed.rowCount).toBe(1);
      let settled = false;
      const other = store.claimOutbox(0, 60_000, 100).finally(() => (settled = true));
      // The sweeper skips the locked row; a sweeper that waited would continue after the commit of the
      // claim.
      await untilTrue('the other one has searched', async () => settled || (await somebodyWaits()));
      await first.query('COMMIT');
      expect(await other).toEqual([]);
    } finally {
      first.release();
    }
  });

  test('an unconfirmed row is not removed by a later batch, a sweep or a stop', async () => {
    await clearOutbox();
    const { engine, tell, confirms } = createCountingEngine(store);
    confirms(false);
    await tell(id, 'one');
    await tell(id, 'two');
    await engine.sweep(60_000);
    await engine.flush();
    expect(await outboxRows()).toBe(2);
  });
});
