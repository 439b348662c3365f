import { toErrorBody } from '@holdpoint/contracts/values/errors';
import type { Answer, TimerFired } from '../decider.ts';
import { foldStored } from '../decider.ts';
import { createBatch, type Loaded } from '../engine/batch.ts';
import type { createCache } from './cache.ts';
import type { AnyService } from '../engine/engine.ts';
import { kindNamed, type Target } from '../engine/kinds.ts';
import type { History, StoredEvent, TimerRow, Transaction, WireMessage } from '../engine/ports.ts';
import { spanParentOf, startDecision } from '../engine/telemetry.ts';

/** A timer that could not be decided fires again after this. */
const TIMER_RETRY_MS = 30_000;

/** The way from a decision to the other services of its process. */
export type Exchange = {
  /** Takes a message whose receiver decides it in the same transaction. */
  readonly deliver: (message: WireMessage) => boolean;
  /** Shows the events of a decision to the services of the process that react to them. */
  readonly show: (events: readonly StoredEvent[]) => void;
};

/** A message, and its trace and the key that sealed it. */
export type Incoming = Target & {
  readonly message: unknown;
  readonly trace?: string | undefined;
  readonly sealKey?: string | undefined;
};

/** The time of a transaction, in epoch milliseconds of its store. All its services share it, and it never goes back. */
export type Moment = { now: number };

/** The decisions of one service in one transaction. */
export const createSession = (
  { service, kinds, store, observer, perform }: AnyService,
  cache: ReturnType<typeof createCache>,
  transaction: Transaction,
  moment: Moment,
  { deliver, show }: Exchange,
  /** The steps that follow the commit. */
  after: (() => void)[],
) => {
  let clearings = cache.clearings();
  const locked = new Map(transaction.locked);
  /** The session keeps the states itself, as the cache may be too small for all of them. */
  const states = new Map<string, Loaded>();
  /** Why a history cannot be read. Only the messages and timers of its aggregate fail. */
  const unreadable = new Map<string, unknown>();
  const asked = new Set<string>();

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
        events as readonly { readonly type: string }[],
      ),
    };
  };

  const keep = (id: string, loaded: Loaded): void => {
    const kind = kindNamed(kinds, loaded.kind);
    cache.put(id, loaded, kind.isOver?.(loaded.state) === true);
  };

  const load = ({ kind, aggregate }: Target): Loaded => {
    const head = locked.get(aggregate);
    if (head === undefined) return { kind, version: 0, state: kindNamed(kinds, kind).decider.initial };
    if (unreadable.has(aggregate)) throw unreadable.get(aggregate);
    const loaded = states.get(aggregate);
    if (loaded === undefined)
      throw new Error(`events of ${aggregate} do not add up to version ${String(head.version)}`);
    return loaded;
  };

  /** Reads the states that the cache lacks. An outdated one is always replaced: it would be assumed again. */
  const learn = async (part: Transaction, isKept = true): Promise<void> => {
    moment.now = Math.max(moment.now, part.now);
    if (part.cacheInvalid === true) cache.clear();
    clearings = cache.clearings();
    const missing: string[] = [];
    for (const [id, head] of part.locked) {
      locked.set(id, head);
      const known = cache.get(id, head.version);
      if (known === undefined) missing.push(id);
      else states.set(id, known);
    }
    const histories = missing.length === 0 ? undefined : await part.load(missing);
    for (const [id, history] of histories ?? []) {
      const head = locked.get(id);
      if (head === undefined) continue;
      try {
        const loaded = rebuild(head.kind, history);
        if (loaded.version !== head.version) continue;
        states.set(id, loaded);
        if (isKept || cache.latest(id) !== undefined) keep(id, loaded);
      } catch (error) {
        unreadable.set(id, error);
        cache.forget([id]);
      }
    }
  };

  const batch = createBatch(service, kinds, moment, load, deliver);

  const decide = ({ message, trace: incoming, sealKey, ...target }: Incoming): Answer | undefined => {
    const { aggregate } = target;
    const before = batch.stateOf(target);
    const kind = kindNamed(kinds, before.kind);
    const origin = kind.taskOf?.(aggregate, before.state) === undefined ? undefined : before.times;
    const span = startDecision(service, message, spanParentOf(incoming, origin, moment.now));
    const { trace } = span;
    try {
      const made = batch.decide(target, message);
      const stored = batch.apply(target, made, trace, sealKey);
      observer.decided?.(stored);
      show(stored);
      const { state } = batch.stateOf(target);
      const task = kind.taskOf?.(aggregate, state);
      if (span.isRecorded) {
        const status = kind.statusOf?.(state);
        span.about({
          'holdpoint.aggregate': aggregate,
          ...(task !== undefined && { 'holdpoint.task': task }),
          ...(status !== undefined &&
            status !== kind.statusOf?.(before.state) && { 'holdpoint.entered': status }),
          'holdpoint.events': made.events.map(({ type }) => type),
        });
      }
      for (const work of made.work) after.push(() => perform(work, trace, task));
      return made.answer;
    } catch (error) {
      span.failed(toErrorBody(error).code);
      throw error;
    } finally {
      span.end();
    }
  };

  return {
    batch,
    transaction,
    decide,
    /** Remembers the states that the decisions have left, after their commit. */
    remember: (): void => {
      if (cache.clearings() === clearings) for (const [id, loaded] of batch.states()) keep(id, loaded);
    },
    /**
     * Reads the aggregates that the transaction has locked at its begin. Timers of thousands that wait must not displace the
     * states of those that move: what is read for timers alone is not kept.
     */
    open: async (ids: readonly string[], forTimers: boolean): Promise<void> => {
      for (const id of ids) asked.add(id);
      await learn(transaction, !forTimers);
    },
    /** Locks and reads aggregates that were not asked for yet. */
    extend: async (ids: readonly string[]): Promise<void> => {
      const more = ids.filter((id) => !asked.has(id));
      if (more.length === 0) return;
      for (const id of more) asked.add(id);
      await learn(await store.lock(more, transaction));
    },
    fire: (due: readonly TimerRow[]): void => {
      for (const { aggregate, name, data, trace } of due) {
        // A timer that fired is removed, unless its decision sets it again or fails.
        batch.setTimer(aggregate, { clear: name }, trace);
        try {
          const kind = transaction.locked.get(aggregate)?.kind;
          if (kind === undefined) throw new Error(`the timer ${name} of ${aggregate} has no aggregate`);
          const fired: TimerFired = { kind: 'timer', name, data };
          decide({ kind, aggregate, message: fired, trace });
        } catch (cause) {
          batch.setTimer(aggregate, { set: name, dueAt: moment.now + TIMER_RETRY_MS, data }, trace);
          observer.timerFailed(aggregate, name, cause, trace);
        }
      }
    },
  };
};

export type Session = ReturnType<typeof createSession>;
