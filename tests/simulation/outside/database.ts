import { createMemoryStore, memoryDeadLetters, type MemoryTables } from '@holdpoint/runtime/memory/store';
import {
  type BatchWrite,
  CommitUnknown,
  Conflict,
  type DeadLetterStore,
  type Store,
  type Transaction,
} from '@holdpoint/runtime/engine/ports';
import type { Life } from '../process-life.ts';
import type { Timeline } from '../timeline.ts';
import type { Weather } from '../faults/fault-rates.ts';

/** A service's schema in PostgreSQL behind a faulty network. */
export type Database = {
  readonly tables: MemoryTables;
  readonly connect: (life: Life, crash: () => void) => Store & { readonly deadLetters: DeadLetterStore };
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

const EPOCH = Date.UTC(2026, 0, 1);

export const createDatabase = (
  service: string,
  timeline: Timeline,
  weather: Weather,
  committed: (write: BatchWrite, now: number) => void,
): Database => {
  let skew = 0;
  let awayUntil = 0;
  let retired = 0;
  const held = new Map<string, number>();
  const now = (): number => Math.floor(EPOCH + timeline.now() + skew);
  const memory = createMemoryStore(now);
  const letters = memoryDeadLetters(memory.tables);

  const connect: Database['connect'] = (life, crash) => {
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
      for (const id of aggregates) held.set(id, (held.get(id) ?? 0) + 1);
      const release = (): void => {
        if (open) for (const id of aggregates) held.set(id, (held.get(id) ?? 0) - 1);
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

      const commit = async (write: BatchWrite): Promise<string | undefined> => {
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
        const row = await transaction.commit(write).finally(release);
        committed(write, transaction.now);
        if (fault === 'crash after the commit') crash();
        if (fault === 'commit stands, its answer is lost') throw new CommitUnknown('no answer');
        return row;
      };

      return {
        now: transaction.now,
        cacheInvalid: anew,
        locked: transaction.locked,
        load: (aggregates) => call('load', () => transaction.load(aggregates)),
        commit: (write) =>
          call('commit', () => commit(write)).catch(async (error: unknown) => {
            await close();
            throw error instanceof Conflict ? error : new CommitUnknown('no answer', { cause: error });
          }),
        // A broken connection closes its transaction on the server.
        rollback: () => (open ? call('rollback', close).catch(close) : Promise.resolve()),
      };
    };

    return {
      lock: (aggregates) => call('lock', async () => wrap(await memory.lock(aggregates), aggregates)),
      lockDue: (limit) =>
        call('lock due', async () => {
          const { transaction, due } = await memory.lockDue(limit);
          const aggregates = [...new Set(due.map(({ aggregate }) => aggregate))];
          return { transaction: wrap(transaction, aggregates), due };
        }),
      claimOutbox: (olderThanMs, claimMs, limit) =>
        call('claim outbox', () => memory.claimOutbox(olderThanMs, claimMs, limit)),
      confirmOutbox: (ids) => call('confirm outbox', () => memory.confirmOutbox(ids)),
      deadLetters: {
        find: (place) => call(`dead letter ${String(place)}`, () => letters.find(place)),
        resolve: (place, resolution) =>
          call(`resolution ${String(place)}`, () => letters.resolve(place, resolution)),
      },
    };
  };

  return {
    tables: memory.tables,
    connect,
    now,
    isLocked: (aggregate) => (held.get(aggregate) ?? 0) > 0,
    retire: (aggregates) => {
      const { events, snapshots, heads, timers } = memory.tables;
      const gone = new Set(aggregates);
      for (const id of gone) {
        events.delete(id);
        snapshots.delete(id);
        heads.delete(id);
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
