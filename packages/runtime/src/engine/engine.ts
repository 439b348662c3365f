import { type ErrorBody, toErrorBody } from '@holdpoint/contracts/values/errors';
import { type AggregateKind, createBatch, factOf, isEmpty, type Loaded, type Told } from './batch.ts';
import { createCache } from './cache.ts';
import type { Answer, TimerFired } from '../decider.ts';
import type { EngineObserver } from './observer.ts';
import { kindOf, placeOf, startDecision } from './telemetry.ts';
import {
  CommitUnknown,
  Conflict,
  type CrashHook,
  DataRefused,
  type History,
  type OutboxRow,
  type Publisher,
  type Store,
  type TimerRow,
  type Transaction,
  type WireMessage,
} from './ports.ts';

/** A message on its way into the engine, and what is to be told of its fate. */
export type Item<Message> = {
  /** The aggregate that the message is about. */
  readonly aggregate: string;
  readonly message: Message;
  readonly trace?: string | undefined;
  /** After the commit, and only then. */
  readonly settled: (answer: Answer | undefined) => void;
  /** The message itself cannot be handled; the rest of its batch was not held up. */
  readonly failed: (error: ErrorBody, cause: unknown) => void;
  /** The store did not take the batch this time; nothing happened. */
  readonly unavailable: () => void;
};

/** An item, and when it came. */
type Waiting<Message> = Item<Message> & { readonly since: number };

export type EngineOptions<State, Message, Event extends { readonly type: string }, Work> = {
  readonly kind: AggregateKind<State, Message | TimerFired, Event, Work>;
  readonly store: Store;
  readonly publisher: Publisher;
  readonly perform: (work: Work, trace: string | undefined, task: string | undefined) => void;
  readonly observer: EngineObserver;
  /** What was committed, for whoever counts it. */
  readonly tell?: ((told: readonly Told<Event>[]) => void) | undefined;
  /** Milliseconds that only go forward, to tell how long something took. Without it everything takes no time. */
  readonly now?: () => number;
  readonly crash?: CrashHook;
  /**
   * Lets whatever has arrived come in before the next batch is taken: without it a batch would hold the first message of
   * a packet alone, and the rest of the packet would wait for its commit.
   */
  readonly turn?: () => Promise<void>;
  /** Messages in one transaction at the most: bounds its size and the time that its locks are held. */
  readonly batchMax: number;
  readonly cacheMax: number;
};

/** A batch that loses its race this often is given back; its messages come again. */
const ATTEMPTS_MAX = 5;
const DUE_TIMERS_MAX = 500;
/** A timer whose message could not be decided is tried again after this. */
const TIMER_RETRY_MS = 30_000;

export type Engine<Message> = ReturnType<
  typeof createEngine<unknown, Message, { readonly type: string }, unknown>
>;

/**
 * Runs one kind of aggregate: takes what messages have arrived, decides them all under one lock and in one transaction,
 * then publishes, then acknowledges. While one batch commits the next one gathers.
 */
export const createEngine = <State, Message, Event extends { readonly type: string }, Work>(
  options: EngineOptions<State, Message, Event, Work>,
) => {
  const { kind, store, publisher, observer, batchMax } = options;
  const crash: CrashHook = options.crash ?? (() => undefined);
  const turn = options.turn ?? (() => Promise.resolve());
  const now = options.now ?? (() => 0);
  const cache = createCache<State>(options.cacheMax);
  const waiting: Waiting<Message>[] = [];
  const posts: { readonly message: WireMessage; readonly stored: () => void }[] = [];
  let confirmed: string[] = [];
  const underWay = new Set<Promise<void>>();
  let running: Promise<void> = Promise.resolve();
  let busy = false;
  let timersWanted = false;

  const rebuild = ({ snapshot, events, course }: History): Loaded<State> => ({
    course,
    version: (snapshot?.version ?? 0) + events.length,
    // The store holds what this very decider wrote.
    state: (events as readonly Event[]).reduce(
      (state, event) => kind.decider.evolve(state, event),
      snapshot === undefined ? kind.decider.initial : (snapshot.state as State),
    ),
  });

  /** The states of every locked aggregate. The batch holds them itself: the cache may have no room for all of them. */
  const loader = async (transaction: Transaction): Promise<(aggregate: string) => Loaded<State>> => {
    const { versions } = transaction;
    if (transaction.anew === true) cache.clear();
    const states = new Map<string, Loaded<State>>();
    const missing: string[] = [];
    for (const [id, version] of versions) {
      const known = cache.get(id, version);
      if (known === undefined) missing.push(id);
      else states.set(id, known);
    }
    const histories = missing.length === 0 ? undefined : await transaction.load(missing);
    for (const [id, history] of histories ?? []) {
      const loaded = rebuild(history);
      if (loaded.version !== versions.get(id)) continue;
      states.set(id, loaded);
      cache.put(id, loaded);
    }
    return (aggregate) => {
      const version = versions.get(aggregate);
      if (version === undefined) return { version: 0, state: kind.decider.initial };
      const loaded = states.get(aggregate);
      if (loaded === undefined)
        throw new Error(`events of ${aggregate} do not add up to version ${String(version)}`);
      return loaded;
    };
  };

  const publish = (rowId: string, { events, messages: own }: Omit<OutboxRow, 'id'>): void => {
    const messages = [...events.map((event) => factOf(kind, event)), ...own];
    const publishing = publisher.publish(messages).then((all) => {
      underWay.delete(publishing);
      if (all) confirmed.push(rowId);
      else observer.publishUnconfirmed(messages.length);
    });
    underWay.add(publishing);
  };

  const removeConfirmed = async (): Promise<void> => {
    const done = confirmed.splice(0);
    await store.confirmOutbox(done).catch((error: unknown) => {
      confirmed.push(...done);
      throw error;
    });
  };

  /** What is told of one message must not keep another from being told. */
  const tellOf = (step: () => void): void => {
    try {
      step();
    } catch (error) {
      observer.tellingFailed(error);
    }
  };

  /** Decides every item inside the transaction and commits; returns what to do once that is durable. */
  const decideAll = async (
    transaction: Transaction,
    items: readonly Waiting<Message>[],
    due: readonly TimerRow[],
    began: number,
  ): Promise<() => void> => {
    const batch = createBatch(kind, transaction.now, await loader(transaction));
    const after: (() => void)[] = [];
    const decideOne = (aggregate: string, message: Message | TimerFired, incoming: string | undefined) => {
      const before = batch.stateOf(aggregate);
      const origin = kind.taskOf?.(aggregate, before.state) === undefined ? undefined : before.course;
      const span = startDecision(kind.service, message, placeOf(incoming, origin, transaction.now));
      const { trace } = span;
      try {
        const made = batch.decide(aggregate, message);
        batch.apply(aggregate, made, trace);
        const { state } = batch.stateOf(aggregate);
        const task = kind.taskOf?.(aggregate, state);
        const status = kind.statusOf?.(state);
        span.about({
          'holdpoint.aggregate': aggregate,
          ...(task !== undefined && { 'holdpoint.task': task }),
          ...(status !== undefined &&
            status !== kind.statusOf?.(before.state) && { 'holdpoint.entered': status }),
          'holdpoint.events': made.events.map(({ type }) => type),
        });
        for (const work of made.work) after.push(() => options.perform(work, trace, task));
        return made.answer;
      } catch (error) {
        span.failed(toErrorBody(error).code);
        throw error;
      } finally {
        span.end();
      }
    };
    for (const { aggregate, name, data, trace } of due) {
      // A timer that fired is gone, unless its decision sets it again or could not be made.
      batch.setTimer(aggregate, { clear: name }, trace);
      try {
        decideOne(aggregate, { kind: 'timer', name, data }, trace);
      } catch (cause) {
        batch.setTimer(aggregate, { set: name, dueAt: transaction.now + TIMER_RETRY_MS, data }, trace);
        observer.timerFailed(aggregate, name, cause, trace);
      }
    }
    for (const item of items) {
      try {
        const answer = decideOne(item.aggregate, item.message, item.trace);
        after.push(() => observer.handled?.(kindOf(item.message), now() - item.since));
        after.push(() => item.settled(answer));
      } catch (cause) {
        after.push(() => item.failed(toErrorBody(cause), cause));
      }
    }
    const posted = posts.splice(0);
    // Looking for due timers and finding none is no pass: a test places its crash by counting what the service handles.
    const pass: CrashHook = items.length + due.length + posted.length > 0 ? crash : () => undefined;
    for (const { message } of posted) batch.post(message);
    const done = confirmed;
    confirmed = [];
    try {
      const write = batch.write(done);
      pass('before_commit');
      const rowId = isEmpty(write)
        ? (await transaction.rollback(), undefined)
        : await transaction.commit(write);
      pass('after_commit');
      for (const [id, loaded] of batch.states()) cache.put(id, loaded);
      observer.committed(items.length + due.length, write, now() - began);
      tellOf(() => options.tell?.(batch.told()));
      return () => {
        if (rowId !== undefined) publish(rowId, { events: write.events, messages: write.outbox });
        pass('after_publish');
        for (const { stored } of posted) stored();
        for (const step of after) tellOf(step);
        pass('after_ack');
      };
    } catch (error) {
      confirmed.push(...done);
      posts.unshift(...posted);
      cache.forget(batch.states().keys());
      throw error;
    }
  };

  const attempt = async (items: readonly Waiting<Message>[]): Promise<void> => {
    const began = now();
    const transaction = await store.lock([...new Set(items.map((item) => item.aggregate))].sort());
    (await guarded(transaction, () => decideAll(transaction, items, [], began)))();
  };

  /** Deciding is idempotent, so a batch whose fate is unknown is simply decided again. */
  const runBatch = async (items: readonly Waiting<Message>[]): Promise<boolean> => {
    for (let tries = 1; ; tries += 1) {
      try {
        await attempt(items);
        return true;
      } catch (error) {
        const again = error instanceof Conflict || error instanceof CommitUnknown;
        if (again) observer.decidedAgain?.(error instanceof Conflict ? 'conflict' : 'commit_unknown');
        if (again && tries < ATTEMPTS_MAX) continue;
        if (error instanceof DataRefused) return await isolate(items, error);
        observer.batchFailed(items.length, error);
        for (const item of items) item.unavailable();
        return false;
      }
    }
  };

  /** One message carries something that the store will never take: find it, and let the others through. */
  const isolate = async (items: readonly Waiting<Message>[], cause: DataRefused): Promise<boolean> => {
    if (items.length > 1) for (const item of items) await runBatch([item]);
    else items[0]?.failed(toErrorBody(cause), cause);
    return items.length > 0;
  };

  const fireTimers = async (): Promise<void> => {
    timersWanted = false;
    const began = now();
    const { transaction, due } = await store.lockDue(DUE_TIMERS_MAX);
    (await guarded(transaction, () => decideAll(transaction, [], due, began)))();
    timersWanted ||= due.length === DUE_TIMERS_MAX;
  };

  const drain = async (): Promise<void> => {
    try {
      while (waiting.length > 0 || timersWanted || posts.length > 0) {
        await turn();
        // A store that does not answer is left alone until the next message or tick.
        if ((waiting.length > 0 || posts.length > 0) && !(await runBatch(waiting.splice(0, batchMax))))
          return;
        if (timersWanted) await fireTimers().catch((error: unknown) => observer.batchFailed(0, error));
      }
    } finally {
      // In the same step as the last look at what waits: what is accepted a moment later finds nobody at work.
      busy = false;
    }
  };

  const wake = (): void => {
    if (busy) return;
    busy = true;
    running = drain();
  };

  return {
    accept: (item: Item<Message>): void => {
      waiting.push({ ...item, since: now() });
      wake();
    },
    /** Stores a message to publish that no decision made: a dead letter. `stored` is called after the commit. */
    post: (message: WireMessage, stored: () => void): void => {
      posts.push({ message, stored });
      wake();
    },
    /** Fires whatever timer is due, after the batch in hand. */
    tick: (): void => {
      timersWanted = true;
      wake();
    },
    /** Removes confirmed outbox rows that no batch took along, and publishes what a crash or an outage left behind. */
    sweep: async (olderThanMs: number): Promise<number> => {
      await removeConfirmed();
      const rows = await store.claimOutbox(olderThanMs, SWEEP_CLAIM_MS, SWEEP_ROWS_MAX);
      for (const row of rows) publish(row.id, row);
      return rows.length;
    },
    backlog: (): number => waiting.length,
    /** Resolves when nothing that was accepted waits any more. */
    idle: async (): Promise<void> => {
      while (busy) await running;
    },
    /** Waits for what was published to be confirmed, so that nothing is published again after a stop. */
    flush: async (): Promise<void> => {
      await Promise.all(underWay);
      await removeConfirmed();
    },
  };
};

const SWEEP_CLAIM_MS = 10_000;
const SWEEP_ROWS_MAX = 100;

/** Whatever goes wrong inside, the transaction does not stay open. */
const guarded = async <R>(transaction: Transaction, body: () => Promise<R>): Promise<R> => {
  try {
    return await body();
  } catch (error) {
    await transaction.rollback();
    throw error;
  }
};
