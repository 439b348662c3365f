import { type ErrorBody, toErrorBody } from '@holdpoint/contracts/values/errors';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { type CommittedEvent, createBatch, eventMessage, isEmpty, type Loaded } from './batch.ts';
import { createCache } from './cache.ts';
import { type Answer, foldStored, type TimerFired } from '../decider.ts';
import { type Addressed, kindNamed, type Kinds, type Target } from './kinds.ts';
import type { Routed } from './inbound.ts';
import type { EngineObserver } from './observer.ts';
import { kindOf, spanParentOf, startDecision } from './telemetry.ts';
import {
  CommitUnknown,
  Conflict,
  type CrashHook,
  type DeadLetterRow,
  DataRefused,
  type History,
  type OutboxRow,
  type Publisher,
  type Store,
  type TimerRow,
  type Transaction,
} from './ports.ts';
import { createPreparation } from './preparation.ts';
import type { Clock } from './clock.ts';
import { createGathering } from './gathering.ts';
import { createLanes } from './lanes.ts';

/** What the sender of a message learns. Exactly one of the callbacks is called, once. */
export type Callbacks = {
  /** The decision is durable. */
  readonly committed: (answer: Answer | undefined) => void;
  /** The message itself cannot be handled. The rest of its batch was handled. */
  readonly failed: (error: ErrorBody, cause: unknown) => void;
  /** The store did not take the batch; nothing happened. */
  readonly unavailable: () => void;
};

/** A message that waits for its decision, and the time at which it was accepted. */
type Item = Routed<Addressed> & Callbacks & { readonly since: number };

export type EngineOptions<Event extends { readonly type: string }, Work> = {
  /** The source of everything that is published. */
  readonly service: ServiceName;
  readonly kinds: Kinds<Event, Work>;
  readonly store: Store;
  readonly publisher: Publisher;
  readonly perform: (work: Work, trace: string | undefined, task: string | undefined) => void;
  readonly observer: EngineObserver;
  /** Called with the events of each batch after its commit, for metrics. */
  readonly onCommitted?: ((events: readonly CommittedEvent<Event>[]) => void) | undefined;
  /** A monotonic clock. Without it every duration is 0, no batch gathers, and no message is lazy. */
  readonly clock?: Pick<Clock, 'now' | 'after'>;
  readonly crash?: CrashHook;
  /**
   * Lets pending input arrive before the next batch starts. Without it a batch would hold only the first message of a
   * packet, and the rest of the packet would wait for its commit.
   */
  readonly yieldToEventLoop?: () => Promise<void>;
  /** Maximum messages per transaction: bounds its size and the time that it holds locks. */
  readonly batchMax: number;
  /** Fixes how long a batch waits until it is full. Left out: under load a moment, else not at all. */
  readonly gatherMs?: number | undefined;
  readonly cacheMax: number;
};

/** After this many conflicts a batch is given up; its messages are delivered again. */
const ATTEMPTS_MAX = 5;
const DUE_TIMERS_MAX = 500;
/** A message that nobody waits for rides on a batch of others for so long, and is then decided alone. */
const LAZY_MS = 50;
/** A timer that could not be decided fires again after this. */
const TIMER_RETRY_MS = 30_000;

export type Engine<To extends Addressed> = ReturnType<
  typeof createEngine<To, { readonly type: string }, unknown>
>;

/**
 * Runs the aggregates of a service: decides all messages that have arrived under one lock and in one transaction, then
 * publishes, then acknowledges. The next batch gathers while one commits.
 */
export const createEngine = <To extends Addressed, Event extends { readonly type: string }, Work>(
  options: EngineOptions<Event, Work>,
) => {
  const { service, kinds, store, publisher, observer, batchMax } = options;
  const crash: CrashHook = options.crash ?? (() => undefined);
  const yieldToEventLoop = options.yieldToEventLoop ?? (() => Promise.resolve());
  const { clock } = options;
  const now = clock?.now ?? (() => 0);
  const cache = createCache(options.cacheMax);
  const waiting = createLanes<Item>(({ kind, message }) => {
    const lane = kinds[kind]?.laneOf?.(message) ?? 'first';
    return clock === undefined && lane === 'lazy' ? 'first' : lane;
  });
  const gathering = clock && createGathering(clock, () => waiting.size() >= batchMax, options.gatherMs);
  const buried: { readonly row: DeadLetterRow; readonly stored: () => void }[] = [];
  const confirmed: string[] = [];
  const underWay = new Set<Promise<void>>();
  let running: Promise<void> = Promise.resolve();
  let busy = false;
  let timersWanted = false;
  /** Lazy messages have waited long enough, or may wait for a batch that is yet to come. */
  let lazyDue = false;
  let lazyTimed = false;

  const rebuild = (kind: string, { snapshot, events, times }: History): Loaded => {
    const { decider } = kindNamed(kinds, kind);
    return {
      kind,
      times,
      version: (snapshot?.version ?? 0) + events.length,
      // The store returns what this decider wrote.
      state: foldStored(
        decider,
        snapshot === undefined ? decider.initial : snapshot.state,
        events as readonly Event[],
      ),
    };
  };

  /** The states of all locked aggregates. The batch keeps them itself, as the cache may be too small for all of them. */
  const loader = async (transaction: Transaction): Promise<(target: Target) => Loaded> => {
    const { locked } = transaction;
    if (transaction.cacheInvalid === true) cache.clear();
    const states = new Map<string, Loaded>();
    const missing: string[] = [];
    for (const [id, { version }] of locked) {
      const known = cache.get(id, version);
      if (known === undefined) missing.push(id);
      else states.set(id, known);
    }
    const histories = missing.length === 0 ? undefined : await transaction.load(missing);
    for (const [id, history] of histories ?? []) {
      const head = locked.get(id);
      const loaded = head && rebuild(head.kind, history);
      if (loaded?.version !== head?.version || loaded === undefined) continue;
      states.set(id, loaded);
      cache.put(id, loaded);
    }
    return ({ kind, aggregate }) => {
      const head = locked.get(aggregate);
      if (head === undefined) return { kind, version: 0, state: kindNamed(kinds, kind).decider.initial };
      const loaded = states.get(aggregate);
      if (loaded === undefined)
        throw new Error(`events of ${aggregate} do not add up to version ${String(head.version)}`);
      return loaded;
    };
  };

  const publish = (rowId: string, { events, messages: own }: Omit<OutboxRow, 'id'>): void => {
    const messages = [
      ...events.map((event) => eventMessage(service, kindNamed(kinds, event.kind).publishedAs, event)),
      ...own,
    ];
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

  /** One failing callback must not block the others. */
  const runCallback = (step: () => void): void => {
    try {
      step();
    } catch (error) {
      observer.callbackFailed(error);
    }
  };

  /** Decides every item inside the transaction and commits. Returns the steps that follow the commit. */
  const decideAll = async (
    transaction: Transaction,
    items: readonly Item[],
    due: readonly TimerRow[],
    began: number,
  ): Promise<() => void> => {
    const batch = createBatch(service, kinds, transaction.now, await loader(transaction));
    const after: (() => void)[] = [];
    const decideOne = (target: Target, message: unknown, incoming: string | undefined, sealKey?: string) => {
      const { aggregate } = target;
      const before = batch.stateOf(target);
      const kind = kindNamed(kinds, before.kind);
      const origin = kind.taskOf?.(aggregate, before.state) === undefined ? undefined : before.times;
      const span = startDecision(service, message, spanParentOf(incoming, origin, transaction.now));
      const { trace } = span;
      try {
        const made = batch.decide(target, message);
        batch.apply(target, made, trace, sealKey);
        const { state } = batch.stateOf(target);
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
      // A timer that fired is removed, unless its decision sets it again or fails.
      batch.setTimer(aggregate, { clear: name }, trace);
      try {
        const kind = transaction.locked.get(aggregate)?.kind;
        if (kind === undefined) throw new Error(`the timer ${name} of ${aggregate} has no aggregate`);
        const fired: TimerFired = { kind: 'timer', name, data };
        decideOne({ kind, aggregate }, fired, trace);
      } catch (cause) {
        batch.setTimer(aggregate, { set: name, dueAt: transaction.now + TIMER_RETRY_MS, data }, trace);
        observer.timerFailed(aggregate, name, cause, trace);
      }
    }
    for (const item of items) {
      try {
        const answer = decideOne(item, item.refresh?.() ?? item.message, item.trace, item.sealKey);
        after.push(() => observer.handled?.(kindOf(item.message), now() - item.since));
        after.push(() => item.committed(answer));
      } catch (cause) {
        after.push(() => item.failed(toErrorBody(cause), cause));
      }
    }
    const deadLetters = buried.splice(0);
    // A look for due timers that finds none is no pass: tests place a crash by counting the passes.
    const isPass = items.length + due.length + deadLetters.length > 0;
    const pass: CrashHook = isPass ? crash : () => undefined;
    for (const { row } of deadLetters) batch.keepDeadLetter(row);
    // Rows of the outbox that are done are no reason for a transaction: the next one, or the sweeper, removes them.
    const done = isPass ? confirmed.splice(0) : [];
    try {
      const write = batch.write(done);
      pass('before_commit');
      const rowId = isEmpty(write)
        ? (await transaction.rollback(), undefined)
        : await transaction.commit(write);
      pass('after_commit');
      for (const [id, loaded] of batch.states()) cache.put(id, loaded);
      observer.committed(items.length + due.length, write, now() - began);
      runCallback(() => options.onCommitted?.(batch.committedEvents()));
      return () => {
        if (rowId !== undefined) publish(rowId, { events: write.announced, messages: write.outbox });
        pass('after_publish');
        for (const { stored } of deadLetters) stored();
        for (const step of after) runCallback(step);
        pass('after_ack');
      };
    } catch (error) {
      confirmed.push(...done);
      buried.unshift(...deadLetters);
      cache.forget(batch.states().keys());
      throw error;
    }
  };

  const attempt = async (items: readonly Item[]): Promise<void> => {
    const began = now();
    const transaction = await store.lock([...new Set(items.map((item) => item.aggregate))].sort());
    (await guarded(transaction, () => decideAll(transaction, items, [], began)))();
  };

  /** Deciding is idempotent, so a batch whose commit is unknown is decided again. */
  const runBatch = async (items: readonly Item[]): Promise<boolean> => {
    for (let tries = 1; ; tries += 1) {
      try {
        await attempt(items);
        return true;
      } catch (error) {
        const again = error instanceof Conflict || error instanceof CommitUnknown;
        if (again) observer.retried?.(error instanceof Conflict ? 'conflict' : 'commit_unknown');
        if (again && tries < ATTEMPTS_MAX) continue;
        if (error instanceof DataRefused) return await isolate(items, error);
        observer.batchFailed(items.length, error);
        for (const item of items) item.unavailable();
        return false;
      }
    }
  };

  /** One message carries data that the store never takes: finds it, and commits the others. */
  const isolate = async (items: readonly Item[], cause: DataRefused): Promise<boolean> => {
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

  const hasBatch = (): boolean =>
    waiting.urgent() > 0 || buried.length > 0 || (lazyDue && waiting.size() > 0);

  const drain = async (): Promise<void> => {
    try {
      while (hasBatch() || timersWanted) {
        await yieldToEventLoop();
        if (hasBatch()) {
          await gathering?.wait();
          const items = waiting.take(batchMax);
          if (waiting.size() === 0) lazyDue = false;
          // A store that does not answer gets no further batch before the next message or tick.
          if (!(await runBatch(items))) return;
          gathering?.ended(items.length);
        }
        if (timersWanted) await fireTimers().catch((error: unknown) => observer.batchFailed(0, error));
      }
    } finally {
      // Synchronous with the last check of the queue: a message accepted a moment later wakes the engine again.
      busy = false;
    }
  };

  const wake = (): void => {
    if (busy) return;
    busy = true;
    running = drain();
  };

  const wakeForLazy = (): void => {
    if (lazyTimed) return;
    lazyTimed = true;
    clock?.after(LAZY_MS, () => {
      lazyTimed = false;
      if (waiting.size() === 0) return;
      lazyDue = true;
      wake();
    });
  };

  const preparation = createPreparation<Item>((item) => {
    const lane = waiting.put(item);
    gathering?.arrived();
    if (lane === 'lazy') wakeForLazy();
    else wake();
  }, yieldToEventLoop);

  return {
    accept: (routed: Routed<To>, callbacks: Callbacks): void => {
      preparation.accept({ ...routed, ...callbacks, since: now() });
    },
    /** Stores a message that cannot be handled. `stored` is called after the commit. */
    keepDeadLetter: (row: DeadLetterRow, stored: () => void): void => {
      buried.push({ row, stored });
      wake();
    },
    /** Fires the timers that are due, after the current batch. */
    tick: (): void => {
      timersWanted = true;
      wake();
    },
    /** Removes confirmed outbox rows that no batch removed, and publishes rows that a crash or an outage left behind. */
    sweep: async (olderThanMs: number): Promise<number> => {
      await removeConfirmed();
      const rows = await store.claimOutbox(olderThanMs, SWEEP_CLAIM_MS, SWEEP_ROWS_MAX);
      for (const row of rows) publish(row.id, row);
      return rows.length;
    },
    backlog: (): number => preparation.waiting() + waiting.size(),
    /** Resolves when every accepted message is handled. */
    idle: async (): Promise<void> => {
      for (;;) {
        if (waiting.size() > waiting.urgent()) {
          lazyDue = true;
          wake();
        }
        if (!busy && preparation.waiting() === 0) return;
        await Promise.all([preparation.idle(), running]);
      }
    },
    /** Waits until the bus has confirmed all that was published, so that nothing is published again after a stop. */
    flush: async (): Promise<void> => {
      await Promise.all(underWay);
      await removeConfirmed();
    },
  };
};

const SWEEP_CLAIM_MS = 10_000;
const SWEEP_ROWS_MAX = 100;

/** Ends the transaction when its body fails. */
const guarded = async <R>(transaction: Transaction, body: () => Promise<R>): Promise<R> => {
  try {
    return await body();
  } catch (error) {
    await transaction.rollback();
    throw error;
  }
};
