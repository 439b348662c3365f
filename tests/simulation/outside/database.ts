import { createMemoryLeases, type MemoryLeases } from '@holdpoint/runtime/memory/leases';
import { createMemoryStore, memoryDeadLetters, type MemoryTables } from '@holdpoint/runtime/memory/store';
import {
  type BatchWrite,
  CommitUnknown,
  Conflict,
  type DeadLetterStore,
  Fenced,
  type Store,
  type StoredEvent,
  type Transaction,
} from '@holdpoint/runtime/engine/ports';
import type { LeaseStore } from '@holdpoint/runtime/ownership/lease';
import type { Life } from '../process-life.ts';
import type { Timeline } from '../timeline.ts';
import type { Weather } from '../faults/fault-rates.ts';

/** What a process of a service with one owner believes: with it the store fences its commits. */
export type Belief = {
  readonly owner: string;
  readonly epoch: () => number | undefined;
  /** Whether the store lets a commit pass. */
  readonly passes: (isOwner: boolean) => boolean;
};

export type Connection = Store & { readonly deadLetters: DeadLetterStore; readonly leases: LeaseStore };

/** A service's schema in PostgreSQL behind a faulty network. */
export type Database = {
  readonly tables: MemoryTables;
  /** The lease of the service. */
  readonly leases: MemoryLeases;
  /** Without a belief every process may commit. */
  readonly connect: (life: Life, crash: () => void, belief?: Belief) => Connection;
  /** Epoch milliseconds by the server's clock, which may jump. */
  readonly now: () => number;
  readonly jump: (ms: number) => void;
  /** Whether an open transaction holds it. */
  readonly isLocked: (aggregate: string) => boolean;
  /** Removes whole aggregates. */
  readonly retire: (aggregates: readonly string[]) => void;
  /** Refuses every call for this long. */
  readonly goAway: (ms: number) => void;
};

const COMMIT_FAULTS = [
  'crash before the commit',
  'crash after the commit',
  'commit loses a race',
  'commit is lost, and so is its answer',
  'commit stands, its answer is lost',
] as const;

const isVerdict = ({ events }: BatchWrite): boolean => events.some(({ type }) => type === 'assessed');

let decisions = 0;
const places = new WeakMap<StoredEvent, number>();
/** Notes the order of decisions, because one transaction may hold events of several services. */
export const noteDecision = (events: readonly StoredEvent[]): void => {
  for (const event of events) places.set(event, (decisions += 1));
};

/** The write of one service in a transaction, and the call that shows it. */
type Shown = { readonly write: BatchWrite; readonly show: (write: BatchWrite) => void };
/** What services have added to the transactions that others have begun. */
const joined = new WeakMap<object, Shown[]>();

/** Shows the events of several services in the order of their decisions, and then everything else. */
const showAll = (all: readonly Shown[]): void => {
  if (all.length === 1) return all.forEach(({ write, show }) => show(write));
  const nothing = { outbox: [], outboxConfirmed: [], snapshots: [], timersSet: [], timersCleared: [] };
  all
    .flatMap(({ write, show }) => write.events.map((event) => ({ event, write, show })))
    .toSorted((one, other) => (places.get(one.event) ?? 0) - (places.get(other.event) ?? 0))
    .forEach(({ event, write, show }) =>
      show({
        ...nothing,
        ...(write.shared !== undefined && { shared: write.shared }),
        events: [event],
        heads: [],
        announced: write.announced.filter((each) => each === event),
      }),
    );
  for (const { write, show } of all) show({ ...write, events: [], announced: [] });
};

/** Counts the locks that a transaction holds in a database. */
type Hold = (where: Map<string, number>, ids: readonly string[]) => void;
/** Of each open transaction, which may reach over several databases: one process has its services in one transaction. */
const holds = new WeakMap<object, Hold>();

const EPOCH = Date.UTC(2026, 0, 1);

export const createDatabase = (
  service: string,
  timeline: Timeline,
  weather: Weather,
  committed: (write: BatchWrite, now: number, byOwner: boolean) => void,
): Database => {
  let skew = 0;
  let awayUntil = 0;
  let retired = 0;
  const held = new Map<string, number>();
  const now = (): number => Math.floor(EPOCH + timeline.now() + skew);
  const memory = createMemoryStore(now);
  const letters = memoryDeadLetters(memory.tables);
  const leases = createMemoryLeases(now);

  const connect: Database['connect'] = (life, crash, belief) => {
    const own = leases.of(belief?.owner ?? life.name);
    // The server notices the end of the session.
    if (belief !== undefined)
      life.atEnd(
        () => void timeline.in(weather.latency(`${belief.owner} ends`), () => leases.ended(belief.owner)),
      );
    const place = (call: string): string => `${life.name} ${call}`;
    let seen: number | undefined;

    /** A call over the network: request, effect and answer each take time, unless the process dies. */
    const call = <Result>(name: string, effect: () => Promise<Result>): Promise<Result> =>
      new Promise((resolve, reject) => {
        const answer = (tell: () => void): void =>
          void timeline.in(weather.latency(place(`${name} <`)), () => life.enter(tell));
        weather.send(place(`${name} >`), () => {
          // A call that has left the process arrives, even when the process dies.
          if (timeline.now() < awayUntil || weather.strikes('store refuses the call', place(name))) {
            answer(() => reject(new Error('the store does not answer')));
          } else {
            timeline.stir();
            effect().then(
              (result) => answer(() => resolve(result)),
              (error: unknown) => answer(() => reject(error)),
            );
          }
        });
      });

    const wrap = (transaction: Transaction, aggregates: readonly string[]): Transaction => {
      let open = true;
      const ends: (() => void)[] = [];
      const hold: Hold = (where, ids) => {
        for (const id of ids) where.set(id, (where.get(id) ?? 0) + 1);
        ends.push(() => ids.forEach((id) => where.set(id, (where.get(id) ?? 0) - 1)));
      };
      hold(held, aggregates);
      holds.set(transaction.unit, hold);
      const release = (): void => {
        for (const end of ends.splice(0)) end();
        open = false;
      };
      // As on PostgreSQL: after a purge an id may stand for another history.
      const anew = retired !== seen;
      seen = retired;
      const close = async (): Promise<void> => {
        timeline.stir();
        if (open) await transaction.rollback();
        release();
      };
      // The server notices a dead client and rolls back. A commit on the wire may arrive first.
      const abandoned = (): void =>
        void timeline.in(weather.latency(place('noticed dead')), () => void close());
      if (life.isAlive()) life.atEnd(abandoned);
      else abandoned();

      const commit = async (write: BatchWrite, epoch: number | undefined): Promise<string | undefined> => {
        const what = place(`commit of ${write.heads.map(({ aggregate }) => aggregate).join(' ')}`);
        if (!open) throw new Error('the connection is gone');
        const dies =
          isVerdict(write) && weather.strikes('recovery dies before it sends a verdict', `${what} decided`);
        const fault = dies ? 'crash after the commit' : weather.oneOf(what, COMMIT_FAULTS);
        if (fault === 'crash before the commit') {
          crash();
          return undefined;
        }
        if (fault === 'commit loses a race') {
          await close();
          throw new Conflict('lost a race');
        }
        if (fault === 'commit is lost, and so is its answer') {
          await close();
          throw new CommitUnknown('no answer');
        }
        if (
          belief !== undefined &&
          weather.strikes('another process takes over before the commit', `${what} fence`)
        )
          leases.restore({ owner: 'another', epoch: leases.row().epoch + 1, until: now() - 1 });
        const byOwner = belief === undefined || leases.holds(belief.owner, epoch);
        if (belief?.passes(byOwner) === false) {
          await close();
          throw new Fenced('another process owns the service');
        }
        const others = joined.get(transaction.unit) ?? [];
        const row = await transaction.commit(write).finally(release);
        showAll([{ write, show: (part) => committed(part, transaction.now, byOwner) }, ...others]);
        if (fault === 'crash after the commit') crash();
        if (fault === 'commit stands, its answer is lost') throw new CommitUnknown('no answer');
        return row;
      };

      return {
        ...(transaction.isAssumed === true && { isAssumed: true as const }),
        now: transaction.now,
        cacheInvalid: anew,
        unit: transaction.unit,
        locked: transaction.locked,
        load: (aggregates) => call('load', () => transaction.load(aggregates)),
        commit: (write) => {
          const epoch = belief?.epoch();
          return call('commit', () => commit(write, epoch)).catch(async (error: unknown) => {
            await close();
            if (error instanceof Conflict || error instanceof Fenced) throw error;
            throw new CommitUnknown('no answer', { cause: error });
          });
        },
        // A broken connection closes its transaction on the server.
        rollback: () => (open ? call('rollback', close).catch(close) : Promise.resolve()),
      };
    };

    /** A part of a transaction that another service of the process has begun. */
    const join = (transaction: Transaction): Transaction => ({
      ...transaction,
      load: (aggregates) => call('load', () => transaction.load(aggregates)),
      commit: async (write) => {
        const byOwner = belief === undefined || leases.holds(belief.owner, belief.epoch());
        if (belief?.passes(byOwner) === false) {
          await transaction.rollback();
          throw new Fenced('another process owns the service');
        }
        const others = joined.get(transaction.unit) ?? [];
        others.push({ write, show: (part) => committed(part, transaction.now, byOwner) });
        joined.set(transaction.unit, others);
        return transaction.commit(write);
      },
    });

    return {
      lock: (aggregates, within) =>
        call('lock', async () => {
          const transaction = await memory.lock(aggregates, within);
          if (within === undefined) return wrap(transaction, aggregates);
          // The part ends with the transaction that it joins.
          holds.get(within.unit)?.(held, aggregates);
          return join(transaction);
        }),
      // Nothing crosses the network before the commit. After a purge an id may stand for another history.
      assume: async (known, within) => {
        if (seen === undefined || retired !== seen) return undefined;
        const transaction = await memory.assume(known, within);
        if (transaction === undefined) return undefined;
        return within === undefined ? wrap(transaction, []) : join(transaction);
      },
      nextDue: () => call('next due', () => memory.nextDue()),
      lockDue: (limit) =>
        call('lock due', async () => {
          const { transaction, due } = await memory.lockDue(limit);
          const aggregates = [...new Set(due.map(({ aggregate }) => aggregate))];
          return { transaction: wrap(transaction, aggregates), due };
        }),
      claimOutbox: (olderThanMs, claimMs, limit) =>
        call('claim outbox', () => memory.claimOutbox(olderThanMs, claimMs, limit)),
      confirmOutbox: (ids) => call('confirm outbox', () => memory.confirmOutbox(ids)),
      leases: {
        look: () => call('lease', () => own.look()),
        release: () => call('release', () => own.release()),
      },
      deadLetters: {
        find: (place) => call(`dead letter ${String(place)}`, () => letters.find(place)),
        resolve: (place, resolution) =>
          call(`resolution ${String(place)}`, () => letters.resolve(place, resolution)),
      },
    };
  };

  return {
    tables: memory.tables,
    leases,
    connect,
    now,
    isLocked: (aggregate) => (held.get(aggregate) ?? 0) > 0,
    retire: (aggregates) => {
      const { events, snapshots, heads, listed, timers } = memory.tables;
      const gone = new Set(aggregates);
      for (const id of gone) {
        events.delete(id);
        snapshots.delete(id);
        heads.delete(id);
        listed.delete(id);
      }
      for (const [key, { aggregate }] of timers) if (gone.has(aggregate)) timers.delete(key);
      retired += gone.size;
    },
    jump: (ms) => {
      skew += ms;
    },
    goAway: (ms) => {
      awayUntil = Math.max(awayUntil, timeline.now() + ms);
    },
  };
};
