import {
  Conflict,
  type BatchWrite,
  type DeadLetterStore,
  type KeptDeadLetter,
  type AggregateTimes,
  type History,
  type Locked,
  type OutboxRow,
  type Head,
  type ListRow,
  type Store,
  type TimerRow,
  type Transaction,
} from '../engine/ports.ts';
import { complete } from '../engine/shared-content.ts';
import { createLocks } from './locks.ts';

type OutboxEntry = OutboxRow & { readonly createdAt: number; claimedUntil: number };
type Snapshot = { readonly version: number; readonly state: unknown };

/** The content of a memory store, for assertions. */
export type MemoryTables = {
  readonly events: Map<string, unknown[]>;
  readonly snapshots: Map<string, Snapshot>;
  readonly timers: Map<string, TimerRow>;
  readonly outbox: Map<string, OutboxEntry>;
  readonly heads: Map<string, Head>;
  /** Rows of lists, by aggregate. */
  readonly listed: Map<string, readonly ListRow[]>;
  /** By digest. */
  readonly shared: Map<string, unknown>;
  /** In the order of their numbers, which begin at 1. */
  readonly deadLetters: KeptDeadLetter[];
};

/** The parts of one transaction in the schemas of several services. */
type Group = {
  readonly writes: {
    readonly check: () => void;
    readonly apply: () => void;
    readonly reject: (error: unknown) => void;
  }[];
  readonly releases: (() => void)[];
  /** When it took its first lock, or else its commit. */
  begun?: number;
  ended: boolean;
};
const end = (group: Group): void => {
  group.ended = true;
  for (const release of group.releases.splice(0)) release();
};

/** All writes of a transaction, or none. */
const commitAll = (group: Group): void => {
  const writes = group.writes.splice(0);
  try {
    for (const { check } of writes) check();
    for (const { apply } of writes) apply();
  } catch (error) {
    for (const { reject } of writes) reject(error);
  } finally {
    end(group);
  }
};

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
const byDueTime = (a: TimerRow, b: TimerRow): number =>
  a.dueAt - b.dueAt || compare(a.aggregate, b.aggregate) || compare(a.name, b.name);

/**
 * The store in memory, for tests and simulation: the same promises as on PostgreSQL, held by the same contract tests.
 * Several engines may share one, as replicas share a database. `clock` stands for the database's clock.
 */
export const createMemoryStore = (clock: () => number): Store & { readonly tables: MemoryTables } => {
  const tables: MemoryTables = {
    events: new Map(),
    snapshots: new Map(),
    timers: new Map(),
    outbox: new Map(),
    heads: new Map(),
    listed: new Map(),
    shared: new Map(),
    deadLetters: [],
  };
  const times = new Map<string, AggregateTimes>();
  const locks = createLocks();
  let lastRow = 0;

  const versionOf = (aggregate: string): number => tables.events.get(aggregate)?.length ?? 0;

  const historyOf = (aggregate: string): History => {
    const snapshot = tables.snapshots.get(aggregate);
    const stored = (tables.events.get(aggregate) ?? []).slice(snapshot?.version ?? 0);
    const events = stored.map((event) => complete(event, tables.shared));
    return { snapshot, events, times: times.get(aggregate) };
  };

  const check = (write: BatchWrite): void => {
    for (const { aggregate, version } of write.events) {
      if (version <= versionOf(aggregate))
        throw new Conflict(`version ${String(version)} of ${aggregate} exists`);
    }
  };

  const apply = (write: BatchWrite, now: number): string | undefined => {
    for (const { digest, body } of write.shared ?? []) tables.shared.set(digest, JSON.parse(body) as unknown);
    for (const { aggregate, body, at, trace } of write.events) {
      const event = JSON.parse(body) as unknown;
      times.set(aggregate, { since: times.get(aggregate)?.since ?? at, at, trace });
      const history = tables.events.get(aggregate);
      if (history === undefined) tables.events.set(aggregate, [event]);
      else history.push(event);
    }
    for (const { aggregate, name } of write.timersCleared) tables.timers.delete(`${aggregate}/${name}`);
    for (const timer of write.timersSet) tables.timers.set(`${timer.aggregate}/${timer.name}`, timer);
    for (const { aggregate, version, state } of write.snapshots) {
      tables.snapshots.set(aggregate, { version, state: JSON.parse(state) as unknown });
    }
    for (const head of write.heads) tables.heads.set(head.aggregate, head);
    for (const row of write.listed ?? []) {
      const text = JSON.stringify(row);
      const rows = (tables.listed.get(row.id) ?? []).filter((known) => JSON.stringify(known) !== text);
      tables.listed.set(row.id, [...rows, row]);
    }
    for (const id of write.unlisted ?? []) tables.listed.delete(id);
    for (const id of write.outboxConfirmed) tables.outbox.delete(id);
    for (const row of write.deadLetters ?? [])
      if (!tables.deadLetters.some(({ id }) => id === row.id)) tables.deadLetters.push(row);
    if (write.outbox.length === 0 && write.announced.length === 0) return undefined;
    lastRow += 1;
    const id = String(lastRow);
    tables.outbox.set(id, {
      id,
      messages: write.outbox,
      events: write.announced,
      createdAt: now,
      claimedUntil: 0,
    });
    return id;
  };

  /** Adds a write to the group. The first part commits all of them. */
  const commitIn = (
    group: Group,
    isFirst: boolean,
    write: BatchWrite,
    checkWrite: () => void,
    now: number,
  ): Promise<string | undefined> =>
    new Promise((resolve, reject) => {
      if (group.ended) return reject(new Error('the transaction has ended'));
      group.writes.push({ check: checkWrite, apply: () => resolve(apply(write, now)), reject });
      if (isFirst) commitAll(group);
    });

  /** A part of the group, which is its first part unless it joins. */
  const begin = (aggregates: readonly string[], release: () => void, joined?: Group): Transaction => {
    const now = clock();
    const group: Group = joined ?? { writes: [], releases: [], ended: false };
    group.releases.push(release);
    group.begun ??= now;
    return {
      unit: group,
      now,
      locked: new Map(
        aggregates.flatMap((id) => {
          const head = tables.heads.get(id);
          return head === undefined ? [] : [[id, { kind: head.kind, version: versionOf(id) }] as const];
        }),
      ),
      load: (ids) => Promise.resolve(new Map(ids.map((id) => [id, historyOf(id)]))),
      commit: (write) => commitIn(group, joined === undefined, write, () => check(write), now),
      rollback: () => Promise.resolve(end(group)),
    };
  };

  /** Compares the versions when the transaction commits. Another transaction that holds a lock goes first, as on PostgreSQL. */
  const assume = (known: ReadonlyMap<string, Locked | undefined>, joined?: Group): Transaction => {
    if (joined?.ended === true) throw new Error('the transaction has ended');
    const now = clock();
    const group: Group = joined ?? { writes: [], releases: [], ended: false };
    const checkAll = (write: BatchWrite): void => {
      for (const [id, head] of known) {
        if (versionOf(id) !== (head?.version ?? 0) || locks.isHeld(id))
          throw new Conflict(`${id} has another version, or is locked`);
      }
      check(write);
    };
    return {
      unit: group,
      now,
      isAssumed: true,
      locked: new Map([...known].flatMap(([id, head]) => (head === undefined ? [] : [[id, head] as const]))),
      load: (ids) => Promise.resolve(new Map(ids.map((id) => [id, historyOf(id)]))),
      commit: (write) => {
        // Its clock may lag, and its events follow their causes.
        const begun = (group.begun ??= clock());
        const events = write.events.map((event) => ({ ...event, at: Math.max(event.at, begun) }));
        return commitIn(group, joined === undefined, { ...write, events }, () => checkAll(write), now);
      },
      rollback: () => Promise.resolve(end(group)),
    };
  };

  const join = (aggregates: readonly string[], group: Group): Transaction => {
    if (group.ended) throw new Error('the transaction has ended');
    const { taken, release } = locks.acquireFree(new Set(aggregates));
    if (taken.length === aggregates.length) return begin(aggregates, release, group);
    release();
    // Waiting here could wait for another transaction that waits for this one.
    throw new Conflict('another transaction holds a lock');
  };

  const dueAt = (now: number): readonly TimerRow[] =>
    [...tables.timers.values()].filter((timer) => timer.dueAt <= now).sort(byDueTime);

  return {
    tables,
    lock: async (aggregates, within) =>
      within === undefined
        ? begin(aggregates, await locks.acquire(aggregates))
        : join(aggregates, within.unit as Group),
    assume: (known, within) => Promise.resolve(assume(known, within?.unit as Group | undefined)),
    nextDue: () =>
      Promise.resolve(Math.min(...[...tables.timers.values()].map(({ dueAt: at }) => at)) - clock()),
    lockDue: (limit) => {
      const wanted = dueAt(clock())
        .slice(0, limit)
        .map(({ aggregate }) => aggregate);
      const { taken, release } = locks.acquireFree(new Set(wanted));
      const transaction = begin(taken, release);
      return Promise.resolve({
        transaction,
        due: dueAt(transaction.now).filter(({ aggregate }) => taken.includes(aggregate)),
      });
    },
    claimOutbox: (olderThanMs, claimMs, limit) => {
      const now = clock();
      const rows = [...tables.outbox.values()]
        .filter((row) => row.createdAt < now - olderThanMs && row.claimedUntil < now)
        .slice(0, limit);
      for (const row of rows) row.claimedUntil = now + claimMs;
      return Promise.resolve(rows);
    },
    confirmOutbox: (ids) => {
      for (const id of ids) tables.outbox.delete(id);
      return Promise.resolve();
    },
  };
};

/** The dead letters of a memory store. */
export const memoryDeadLetters = ({ deadLetters }: Pick<MemoryTables, 'deadLetters'>): DeadLetterStore => ({
  find: (place) => Promise.resolve(deadLetters[place - 1]),
  resolve: (place, resolution) => {
    const kept = deadLetters[place - 1];
    if (kept === undefined) return Promise.resolve(undefined);
    deadLetters[place - 1] = { ...kept, resolution: kept.resolution ?? resolution };
    return Promise.resolve(kept.resolution ?? resolution);
  },
});
