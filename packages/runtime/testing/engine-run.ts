import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { Answer } from '../src/decider.ts';
import { deadLetterOf } from '../src/engine/dead-letter.ts';
import { createEngine, type EngineOptions } from '../src/engine/engine.ts';
import type { HostOptions } from '../src/host/host.ts';
import { createMemoryBus } from '../src/memory/bus.ts';
import { createMemoryStore } from '../src/memory/store.ts';
import type {
  DeadLetterRow,
  BatchWrite,
  CommitUnknown,
  Conflict,
  DataRefused,
  Store,
  WireMessage,
} from '../src/engine/ports.ts';
import { type TallyEvent, tallyKind, type TallyMessage, type TallyWork, type ToTally } from './tally.ts';

/** The result of one message. */
export type Fate =
  | { readonly settled: Answer | undefined }
  | { readonly failed: ErrorBody; readonly cause: unknown }
  | { readonly unavailable: true };

/** The results of the next commits, in order; later ones succeed. */
export type CommitFate =
  | 'well'
  /** Refused before anything was written. */
  | Conflict
  | DataRefused
  /** The answer to the commit was lost; it stands, or it does not. */
  | { readonly unknown: CommitUnknown; readonly stands: boolean };

/** A store whose commits and locks fail on demand, and whose commits can be held back. */
export const unreliable = (store: Store) => {
  const commits: CommitFate[] = [];
  const refuses: ((write: BatchWrite) => Error | undefined)[] = [];
  const state: { down: Error | undefined; gate: Promise<void> | undefined; open: number } = {
    down: undefined,
    gate: undefined,
    open: 0,
  };

  const wrap = (transaction: Awaited<ReturnType<Store['lock']>>): typeof transaction => {
    state.open += 1;
    let ended = false;
    const end = (): void => {
      if (!ended) state.open -= 1;
      ended = true;
    };
    return {
      ...transaction,
      commit: async (write) => {
        await state.gate;
        const refusal = refuses.map((refuse) => refuse(write)).find((error) => error !== undefined);
        const fate = refusal ?? commits.shift() ?? 'well';
        if (fate !== 'well' && !('unknown' in fate)) throw fate;
        if (fate !== 'well' && !fate.stands) throw fate.unknown;
        const row = await transaction.commit(write);
        end();
        if (fate !== 'well') throw fate.unknown;
        return row;
      },
      rollback: async () => {
        end();
        await transaction.rollback();
      },
    };
  };

  const up = (): void => {
    if (state.down !== undefined) throw state.down;
  };
  return {
    store: {
      ...store,
      lock: async (aggregates, within) => {
        up();
        return wrap(await store.lock(aggregates, within));
      },
      assume: async (known, within) => {
        up();
        const transaction = await store.assume(known, within);
        return transaction && wrap(transaction);
      },
      lockDue: async (limit) => {
        up();
        const { transaction, due } = await store.lockDue(limit);
        return { transaction: wrap(transaction), due };
      },
    } satisfies Store,
    /** What happens to the next commits. */
    commits,
    /** What the store will never take. */
    refuses,
    /** While it is down, nothing can be locked. */
    down: (error?: Error): void => void (state.down = error),
    /** Holds every commit back until the returned function is called. */
    hold: (): (() => void) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      state.gate = promise;
      return () => {
        state.gate = undefined;
        resolve();
      };
    },
    /** Transactions that were begun and not ended. */
    open: (): number => state.open,
  };
};

type Options = Partial<EngineOptions<TallyEvent, TallyWork> & HostOptions> & {
  readonly kind?: typeof tallyKind;
};

/** An engine over tallies, and a record of everything that it does. */
export const engineOver = (store: Store, { kind = tallyKind, ...options }: Options = {}) => {
  const bus = createMemoryBus();
  const log: string[] = [];
  const committed: number[] = [];
  const failures: unknown[] = [];
  const timersFailed: string[] = [];
  const unconfirmed: number[] = [];
  const engine = createEngine<ToTally, TallyEvent, TallyWork>({
    service: 'executor',
    kinds: { tally: kind },
    store,
    publisher: { publish: (messages) => (log.push('publish'), bus.publisher.publish(messages)) },
    perform: ({ work }) => void log.push(`work ${work}`),
    observer: {
      committed: (messages) => void committed.push(messages),
      batchFailed: (_, error) => void failures.push(error),
      timerFailed: (aggregate, name) => void timersFailed.push(`${aggregate}/${name}`),
      publishUnconfirmed: (messages) => void unconfirmed.push(messages),
      callbackFailed: (error) => void failures.push(error),
    },
    crash: (point) => void log.push(point),
    batchMax: 100,
    cacheMax: 100,
    ...options,
  });
  /** Sends a message, and resolves to its result. */
  const send = (aggregate: string, message: TallyMessage, trace?: string): Promise<Fate> =>
    new Promise((resolve) => {
      const tell = (fate: Fate): void => {
        log.push(Object.keys(fate)[0] ?? '');
        resolve(fate);
      };
      engine.accept(
        { kind: 'tally', aggregate, message, trace },
        {
          committed: (answer) => tell({ settled: answer }),
          failed: (error, cause) => tell({ failed: error, cause }),
          unavailable: () => tell({ unavailable: true }),
        },
      );
    });
  return { engine, bus, log, committed, failures, timersFailed, unconfirmed, send };
};

/** A clock that moves only by `advance`. */
export const stillClock = (start = 1_000_000) => {
  let now = start;
  return { now: (): number => now, advance: (ms: number): number => (now += ms) };
};

/** A memory store with its clock, and an engine over it. */
export const engineInMemory = (options: Options = {}) => {
  const clock = stillClock();
  const store = createMemoryStore(clock.now);
  return { clock, store, tables: store.tables, ...engineOver(store, options) };
};

export const add = (key: string, by = 1): TallyMessage => ({ kind: 'add', key, by });
export const letter = (id = 'dlq.executor.1'): DeadLetterRow =>
  deadLetterOf(
    'executor',
    {
      subject: 'hp.cmd.effect.run.default',
      headers: {},
      data: Buffer.from('{'),
      deliveries: 1,
      identity: id,
      at: 0,
    },
    { code: 'CONTRACT_NOT_JSON', message: 'no JSON' },
  );
export const headerOf = ({ headers }: WireMessage, name: string): string | undefined =>
  headers.find(([header]) => header === name)?.[1];
