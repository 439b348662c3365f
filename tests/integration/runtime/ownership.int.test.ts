import { consumers } from '@holdpoint/contracts/bus/streams';
import { coreRole } from '@holdpoint/infra/credentials/layout';
import { readPostgresPassword } from '@holdpoint/infra/credentials/read';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { keepTopology } from '@holdpoint/runtime/bus/keep-topology';
import { createMemoryLeases, fencedStore } from '@holdpoint/runtime/memory/leases';
import { createMemoryStore } from '@holdpoint/runtime/memory/store';
import { Fenced, type Store } from '@holdpoint/runtime/engine/ports';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import type { LeaseStore } from '@holdpoint/runtime/ownership/lease';
import { createLeases, endStuckTransactions, ownershipFence } from '@holdpoint/runtime/ownership/lease-store';
import { takeBack } from '@holdpoint/runtime/ownership/take-back';
import { createPool } from '@holdpoint/runtime/store/pool';
import { createPostgresStore } from '@holdpoint/runtime/store/store';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { commitTo, eventOf, writeOf } from '../../kit/effects/writes.ts';
import type { Database } from '../../kit/stack/databases.ts';
import { currentRun } from '../../kit/stack/run.ts';
import { servicePool, storeDatabase } from '../../kit/stack/store-backing.ts';
import { createSystem } from '../../kit/stack/system.ts';
import { askOwner } from '../../kit/tasks/aged.ts';
import { untilTrue } from '../../kit/until.ts';

type Replica = {
  readonly leases: LeaseStore;
  /** A store that commits only while the replica owns the service with this epoch. */
  readonly storeWith: (epoch: number | undefined) => Store;
  /** The process ends. */
  readonly end: () => Promise<void>;
};
type Backing = {
  readonly replica: (name: string) => Promise<Replica>;
  /** The lease runs out now, as that of a process that is too slow. */
  readonly runOut: () => Promise<void>;
  /** Puts a lease into the table, as the restore of a backup would. `forMs`: how long it still lasts. */
  readonly restore: (owner: string, epoch: number, forMs: number) => Promise<void>;
  readonly eventsOf: (id: string) => Promise<number>;
  readonly close: () => Promise<void>;
};

const memory = (): Promise<Backing> => {
  const leases = createMemoryLeases(() => Date.now());
  const store = createMemoryStore(() => Date.now());
  return Promise.resolve({
    replica: (name) =>
      Promise.resolve({
        leases: leases.of(name),
        storeWith: (epoch) => fencedStore(store, () => leases.holds(name, epoch)),
        end: () => Promise.resolve(leases.ended(name)),
      }),
    runOut: () => Promise.resolve(leases.runOut()),
    restore: (owner, epoch, forMs) =>
      Promise.resolve(leases.restore({ owner, epoch, until: Date.now() + forMs })),
    eventsOf: (id) => Promise.resolve(store.tables.events.get(id)?.length ?? 0),
    close: () => Promise.resolve(),
  });
};

const postgres = async (): Promise<Backing> => {
  const database = await storeDatabase();
  const open = new Set<() => Promise<void>>();
  return {
    replica: async (name) => {
      const [pool, own] = await Promise.all([servicePool(database), servicePool(database)]);
      const end = async (): Promise<void> => {
        if (open.delete(end)) await Promise.all([pool.end(), own.end()]);
      };
      open.add(end);
      return {
        leases: createLeases(own).of('recovery', name),
        storeWith: (epoch) =>
          createPostgresStore(pool, { guards: [ownershipFence('recovery', name, () => epoch)] }),
        end,
      };
    },
    runOut: async () => {
      await askOwner(database, 'UPDATE recovery.ownership SET until = clock_timestamp()');
    },
    restore: async (owner, epoch, forMs) => {
      await askOwner(
        database,
        `UPDATE recovery.ownership SET owner = $1, epoch = $2, session = NULL, lasts_ms = DEFAULT, ran_out = DEFAULT,
                until = clock_timestamp() + $3 * interval '1 millisecond'`,
        [owner, epoch, forMs],
      );
    },
    eventsOf: async (id) => {
      const count = 'SELECT count(*)::int AS count FROM recovery.events WHERE aggregate = $1';
      return (await askOwner<{ count: number }>(database, count, [id]))[0]?.count ?? -1;
    },
    close: async () => {
      await Promise.all([...open].map((end) => end()));
      await database.drop();
    },
  };
};

/** A connection like that of a core, which keeps the leases of its services. */
const corePool = async (database: Database): Promise<Pool> => {
  const { host, port } = database.admin;
  return createPool(
    {
      url: `postgres://${coreRole}@${host}:${String(port)}/${database.name}`,
      password: await readPostgresPassword(currentRun().credentialsDir, coreRole),
      schema: 'pg_catalog',
      name: 'holdpoint-test',
      max: 1,
    },
    silentLogger(),
  );
};

describe.each([
  ['in memory', memory],
  ['on PostgreSQL', postgres],
])('a lease %s', (_name, open) => {
  let backing: Backing;
  beforeAll(async () => {
    backing = await open();
  });
  afterAll(() => backing.close());

  let count = 0;
  const name = (): string => {
    count += 1;
    return `replica-${String(count)}`;
  };
  const free = (): Promise<void> => backing.restore('gone', count * 100, -1);

  test('the first to look owns the service, and the second does not', async () => {
    await free();
    const [one, two] = [await backing.replica(name()), await backing.replica(name())];
    const mine = await one.leases.look();
    expect(mine).toMatchObject({ isMine: true });
    const others = await two.leases.look();
    expect(others).toMatchObject({ isMine: false, epoch: mine.epoch });
    expect(others.leftMs).toBeGreaterThan(0);
    expect(await one.leases.look()).toEqual(mine);
  });

  test('of many that look at once, one owns the service', async () => {
    await free();
    const all = await Promise.all([1, 2, 3, 4].map(() => backing.replica(name())));
    const found = await Promise.all(all.map(({ leases }) => leases.look()));
    expect(found.filter(({ isMine }) => isMine)).toHaveLength(1);
  });

  test('leases that run out one after another last longer and longer, whoever takes them', async () => {
    await free();
    const [one, two] = [await backing.replica(name()), await backing.replica(name())];
    const lasting: number[] = [];
    for (const replica of [one, two, two, one, two, one]) {
      lasting.push((await replica.leases.look()).lastsMs);
      await backing.runOut();
    }
    expect(lasting).toEqual([3_000, 6_000, 12_000, 24_000, 24_000, 24_000]);
    expect(await one.leases.look()).toMatchObject({ isMine: true, lastsMs: 24_000 });
    const { leftMs } = await two.leases.look();
    expect(leftMs).toBeGreaterThan(12_000);
  });

  test('a lease of a process that has ended does not make the next one longer', async () => {
    await free();
    for (let lives = 0; lives < 3; lives += 1) {
      const replica = await backing.replica(name());
      const found = await vi.waitUntil(async () => {
        const lease = await replica.leases.look();
        return lease.isMine && lease;
      });
      expect(found.lastsMs).toBe(3_000);
      await replica.end();
    }
  });

  test('a released lease, and a lease that is over, are taken with the next epoch', async () => {
    await free();
    const [one, two] = [await backing.replica(name()), await backing.replica(name())];
    const { epoch } = await one.leases.look();
    await one.leases.release();
    expect(await two.leases.look()).toMatchObject({ isMine: true, epoch: epoch + 1 });
    await backing.restore('gone', epoch + 1, -1);
    expect(await one.leases.look()).toMatchObject({ isMine: true, epoch: epoch + 2 });
  });

  test('the lease of a process that has ended is free at once', async () => {
    await free();
    const [one, two] = [await backing.replica(name()), await backing.replica(name())];
    const { epoch } = await one.leases.look();
    await one.end();
    await untilTrue('the other owns the service', async () => (await two.leases.look()).isMine);
    expect(await two.leases.look()).toMatchObject({ epoch: epoch + 1 });
  });

  test('a lease that no clock of this server can have made is free', async () => {
    await backing.restore('gone', 1_000, 3_600_000);
    const one = await backing.replica(name());
    expect(await one.leases.look()).toMatchObject({ isMine: true, epoch: 1_001 });
  });

  test('a commit of the owner passes the fence', async () => {
    await free();
    const id = name();
    const one = await backing.replica(name());
    const { epoch } = await one.leases.look();
    await commitTo(one.storeWith(epoch), id, () => ({ events: [eventOf(id, 1)] }));
    expect(await backing.eventsOf(id)).toBe(1);
  });

  test('a commit of an earlier owner is fenced and writes nothing', async () => {
    await free();
    const id = name();
    const [one, two] = [await backing.replica(name()), await backing.replica(name())];
    const { epoch } = await one.leases.look();
    const frozen = await one.storeWith(epoch).lock([id]);
    await one.leases.release();
    await two.leases.look();
    await expect(frozen.commit(writeOf({ events: [eventOf(id, 1)] }))).rejects.toThrow(Fenced);
    expect(await backing.eventsOf(id)).toBe(0);
  });

  test('a process that owns nothing commits nothing', async () => {
    const id = name();
    const one = await backing.replica(name());
    const commit = commitTo(one.storeWith(undefined), id, () => ({ events: [eventOf(id, 1)] }));
    await expect(commit).rejects.toThrow(Fenced);
    expect(await backing.eventsOf(id)).toBe(0);
  });

  test('of two owners with the same epoch after a restore, only the one in the table commits', async () => {
    await free();
    const id = name();
    const [first, second] = [name(), name()];
    const [one, two] = [await backing.replica(first), await backing.replica(second)];
    const { epoch } = await one.leases.look();
    await backing.restore('gone', epoch - 1, -1);
    expect(await two.leases.look()).toMatchObject({ isMine: true, epoch });
    const stale = commitTo(one.storeWith(epoch), id, () => ({ events: [eventOf(id, 1)] }));
    await expect(stale).rejects.toThrow(Fenced);
    await commitTo(two.storeWith(epoch), id, () => ({ events: [eventOf(id, 1)] }));
    expect(await backing.eventsOf(id)).toBe(1);
  });
});

describe('the leases of several services on one connection', () => {
  const SERVICES = ['approvals', 'orchestrator', 'recovery'] as const;
  let database: Database;
  let pool: Pool;
  beforeAll(async () => {
    database = await storeDatabase();
    pool = await corePool(database);
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  test('services that look in one turn share a statement', async () => {
    const leases = createLeases(pool);
    const stores = SERVICES.map((service) => leases.of(service, `${service}-owner`));
    const query = vi.spyOn(pool, 'query');
    for (const epoch of [1, 1]) {
      const found = await Promise.all(stores.map((store) => store.look()));
      expect(found).toEqual(SERVICES.map(() => ({ isMine: true, epoch, lastsMs: 3_000, leftMs: 0 })));
    }
    expect(query).toHaveBeenCalledTimes(2);
    query.mockRestore();
    await stores[0]?.release();
    const others = createLeases(pool);
    const found = await Promise.all(SERVICES.map((service) => others.of(service, 'other').look()));
    expect(found.map(({ isMine, epoch }) => ({ isMine, epoch }))).toEqual([
      { isMine: true, epoch: 2 },
      { isMine: false, epoch: 1 },
      { isMine: false, epoch: 1 },
    ]);
  });

  test('a row that stays locked costs only its own service the lease', async () => {
    await Promise.all(
      SERVICES.map((service) =>
        askOwner(database, `UPDATE ${service}.ownership SET owner = NULL, epoch = 0, until = '-infinity'`),
      ),
    );
    await withAdmin(database.admin, async (client) => {
      await client.query('BEGIN');
      await client.query('SELECT FROM orchestrator.ownership FOR KEY SHARE');
      const leases = createLeases(pool);
      const looks = SERVICES.map((service) => leases.of(service, 'one').look());
      const found = await Promise.allSettled(looks);
      expect(found.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      await client.query('ROLLBACK');
      expect(await leases.of('orchestrator', 'one').look()).toMatchObject({ isMine: true, epoch: 1 });
    });
  });
});

test('a renewal does not wait for a commit under way', async () => {
  const database = await storeDatabase();
  const pool = await servicePool(database);
  try {
    const lease = createLeases(pool).of('recovery', 'one');
    const { epoch } = await lease.look();
    const fence = ownershipFence('recovery', 'one', () => epoch).statement(writeOf({}));
    const client = await pool.connect();
    await client.query('BEGIN');
    await client.query(fence?.text ?? '', [...(fence?.values ?? [])]);
    expect(await lease.look()).toMatchObject({ isMine: true, epoch });
    expect((await client.query('COMMIT')).command).toBe('COMMIT');
    client.release();
  } finally {
    await pool.end();
    await database.drop();
  }
});

test('a takeover waits for a commit under way, and ends transactions that a frozen process has left open', async () => {
  const database = await storeDatabase();
  const [frozen, successor] = await Promise.all([servicePool(database), servicePool(database)]);
  // The server ends the connection below; without a listener its error would end the test.
  frozen.on('connect', (client) => client.on('error', () => undefined));
  try {
    const one = createLeases(frozen).of('recovery', 'one');
    const { epoch } = await one.look();
    const fence = ownershipFence('recovery', 'one', () => epoch).statement(writeOf({}));
    const client = await frozen.connect();
    await client.query('BEGIN');
    await client.query(fence?.text ?? '', [...(fence?.values ?? [])]);
    const released = one.release();
    let isReleased = false;
    void released.then(() => (isReleased = true));
    await untilTrue('the update waits', async () => {
      const waiting = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'`;
      return (await askOwner<{ count: number }>(database, waiting, [database.name]))[0]?.count === 1;
    });
    expect(isReleased).toBe(false);
    await untilTrue(
      'the open transaction is ended',
      async () => (await endStuckTransactions(successor)) === 1,
    );
    await released;
    expect(await createLeases(successor).of('recovery', 'two').look()).toMatchObject({
      isMine: true,
      epoch: epoch + 1,
    });
    client.release(true);
  } finally {
    await Promise.all([frozen.end(), successor.end()]);
    await database.drop();
  }
});

test('what a dead owner has taken from the bus is delivered again at once', async () => {
  const system = await createSystem();
  try {
    const topology = await system.connect('topology');
    const manager = await jetstreamManager(topology, { checkAPI: false });
    (await keepTopology({ connection: topology, log: silentLogger() })).stop();
    const declared = consumers.find(({ name }) => name === 'approvals-effect');
    if (declared === undefined) throw new Error('no such consumer');
    const executor = await system.connect('executor');
    const send = (id: string) =>
      jetstream(executor, { checkAPI: false }).publish(`hp.evt.effect.applied.${id}`, '{}');
    for (const id of ['a', 'b', 'c', 'd']) await send(id);
    const approvals = await system.connect('approvals');
    const read = async () => {
      const source = await jetstream(approvals, { checkAPI: false }).consumers.get(
        declared.stream,
        declared.name,
      );
      const taken = await source.fetch({ max_messages: 3, expires: 5_000 });
      const messages = [];
      for await (const message of taken) messages.push(message);
      return messages;
    };
    const held = await read();
    held[1]?.ack();
    await approvals.flush();
    expect(held.map(({ subject }) => subject.at(-1))).toEqual(['a', 'b', 'c']);
    expect(await takeBack(approvals, declared)).toBe(2);
    const again = await read();
    expect(new Set(again.map(({ subject }) => subject.at(-1)))).toEqual(new Set(['a', 'c', 'd']));
    expect((await manager.consumers.info(declared.stream, declared.name)).num_ack_pending).toBe(3);
  } finally {
    await system.stop();
  }
});
