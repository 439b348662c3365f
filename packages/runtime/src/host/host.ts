import { toErrorBody } from '@holdpoint/contracts/values/errors';
import { isEmpty } from '../engine/batch.ts';
import type { Clock } from '../engine/clock.ts';
import type { AnyService, Engine, EngineOptions } from '../engine/engine.ts';
import { createGathering } from './gathering.ts';
import { type Batch, createJointTransaction, type Part } from './joint-transaction.ts';
import type { Addressed } from '../engine/kinds.ts';
import { addressees, createMember, type Member } from './member.ts';
import { createUnderWay, type Hold, type Turn } from './under-way.ts';
import {
  type BatchWrite,
  CommitUnknown,
  Conflict,
  type CrashHook,
  DataRefused,
  Fenced,
  type TimerRow,
  type Transaction,
} from '../engine/ports.ts';

export type HostOptions = {
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
  /**
   * Transactions that may be under way at once: one decides while the others commit. Left out: one after another, which a service
   * needs that keeps facts of its latest commit.
   */
  readonly overlapMax?: number;
  /** Fixes how long a batch waits until it is full. Left out: under load a moment, else not at all. */
  readonly gatherMs?: number | undefined;
};

/** After this many conflicts a batch is given up; its messages are delivered again. */
const ATTEMPTS_MAX = 5;
/** From this attempt on every service decides only its own messages, so that none can hold up another. */
const ALONE_FROM = 3;
const DUE_TIMERS_MAX = 500;
/** After a conflict so many batches lock, because another process decides on the same aggregates. */
const LOCKING_BATCHES = 16;

/** How a transaction begins: by the service that opens it, with its timers that are due. */
type Opening = {
  readonly member: Member;
  readonly transaction: Transaction;
  readonly own: readonly string[];
  readonly due: readonly TimerRow[];
  readonly hold: Hold;
  /** Lets the next transaction decide. */
  readonly passOn: Turn;
  /** No service decides messages of another in this transaction. */
  readonly alone?: boolean;
  /** Whether states of the cache may do in place of locks. */
  readonly mayAssume: boolean;
};

/**
 * Runs the services of a process: decides all messages that have arrived under one lock and in one transaction, then publishes,
 * then acknowledges. What one service asks of another one here joins the same transaction. The next batch gathers while one
 * commits.
 */
export const createHost = (options: HostOptions) => {
  const { batchMax, clock } = options;
  const crash: CrashHook = options.crash ?? (() => undefined);
  const yieldToEventLoop = options.yieldToEventLoop ?? (() => Promise.resolve());
  const now = clock?.now ?? (() => 0);
  const members: Member[] = [];
  const waiting = (): number => members.reduce((sum, member) => sum + member.waiting(), 0);
  const urgent = (): number => members.reduce((sum, member) => sum + member.urgent(), 0);
  const gathering = clock && createGathering(clock, () => waiting() >= batchMax, options.gatherMs);
  const underWay = createUnderWay(options.overlapMax ?? 1);
  let running: Promise<void> = Promise.resolve();
  let busy = false;
  /** A store that does not answer gets no further batch before the next message or tick. */
  let isHalted = false;
  let lockingBatches = 0;

  /** Decides everything inside the transaction and commits. Returns the steps that follow the commit. */
  const decideAll = async (
    { member: first, transaction, own, due, hold, passOn, alone = false, mayAssume }: Opening,
    batches: readonly Batch[],
    began: number,
  ): Promise<() => void> => {
    const joint = createJointTransaction(members, first, transaction, {
      localMax: alone ? 0 : batchMax,
      now,
      hold,
      mayAssume,
    });
    const undo: (() => void)[] = [joint.release];
    try {
      await joint.decide(own, due, batches);
      const parts = joint.parts().map((part) => ({ ...part, letters: part.member.takeBuried() }));
      undo.push(() => {
        for (const { member, session, letters } of parts) {
          member.buryAgain(letters);
          member.cache.forget(session.batch.states().keys());
        }
      });
      const isRequested = parts.some(({ messages, letters }) => messages + letters.length > 0);
      const written = parts.map((part) => {
        const { member, session, letters } = part;
        for (const { row } of letters) session.batch.keepDeadLetter(row);
        // Rows of the outbox that are done are no reason for a transaction: the next one, or the sweeper, removes them.
        const done = isRequested ? member.takeConfirmed() : [];
        undo.push(() => member.confirmAgain(done));
        return { ...part, write: session.batch.write(done) };
      });
      // Tests place a crash by counting passes. A redelivered message that changes nothing must not count.
      const changes = written.some(({ write, letters }) => write.events.length + letters.length > 0);
      const pass: CrashHook = changes ? crash : () => undefined;
      pass('before_commit');
      const committing = commit(written);
      // From here on it takes no more locks.
      passOn();
      const committed = await committing;
      pass('after_commit');
      joint.remember();
      for (const { member, session, messages, write } of written) {
        session.remember();
        member.expectTimers(write.timersSet, session.transaction.now);
        member.observer.committed(messages, write, now() - began);
        runCallback(member, () => member.onCommitted?.(session.batch.committedEvents()));
      }
      return () => {
        for (const { member, row, write } of committed)
          if (row !== undefined) member.publish(row, { events: write.announced, messages: write.outbox });
        pass('after_publish');
        for (const { letters } of parts) for (const { stored } of letters) stored();
        joint.release();
        for (const step of joint.after) runCallback(first, step);
        pass('after_ack');
      };
    } catch (error) {
      for (const step of undo) step();
      throw error;
    }
  };

  const attempt = async (
    batches: readonly Batch[],
    { hold, alone, mayAssume }: Pick<Opening, 'hold' | 'alone' | 'mayAssume'>,
    passOn: Turn,
  ): Promise<void> => {
    const began = now();
    const [first] = batches;
    try {
      if (first === undefined) return;
      const { member, items } = first;
      const own = addressees(items);
      const transaction = await member.reach(items, mayAssume);
      const opening = { member, transaction, own, due: [], hold, passOn, alone: alone ?? false, mayAssume };
      (await guarded(transaction, () => decideAll(opening, batches, began)))();
    } finally {
      passOn();
    }
  };

  /** Deciding is idempotent, so a batch whose commit is unknown is decided again. */
  const runBatch = async (
    batches: readonly Batch[],
    hold: Hold,
    turn: Promise<Turn>,
    alone = false,
  ): Promise<boolean> => {
    const mayAssume = lockingBatches === 0;
    if (!mayAssume) lockingBatches -= 1;
    for (let tries = 1; ; tries += 1) {
      try {
        const passOn = await (tries === 1 ? turn : underWay.turn());
        // A repetition locks: what it then reads stays as it is.
        const assumes = mayAssume && tries === 1;
        await attempt(batches, { hold, alone: alone || tries >= ALONE_FROM, mayAssume: assumes }, passOn);
        return true;
      } catch (error) {
        const again = error instanceof Conflict || error instanceof CommitUnknown;
        if (error instanceof Conflict) lockingBatches = LOCKING_BATCHES;
        if (again)
          for (const { member } of batches) {
            member.observer.retried?.(error instanceof Conflict ? 'conflict' : 'commit_unknown');
            // The commit may have taken place, and its messages are not published.
            if (error instanceof CommitUnknown) member.doubtOutbox();
          }
        if (again && tries < ATTEMPTS_MAX) continue;
        if (error instanceof Fenced) for (const member of members) member.fenced();
        if (error instanceof DataRefused) return await isolate(batches, hold, alone, error);
        // Before the senders learn of it: their next message wakes the engine again.
        isHalted = !alone;
        for (const { member, items } of batches) {
          member.observer.batchFailed(items.length, error);
          for (const item of items) item.unavailable();
        }
        return false;
      }
    }
  };

  /** One message carries data that the store never takes: finds it, and commits the others. */
  const isolate = async (
    batches: readonly Batch[],
    hold: Hold,
    alone: boolean,
    cause: DataRefused,
  ): Promise<boolean> => {
    const single = batches.flatMap(({ member, items }) => items.map((item) => ({ member, items: [item] })));
    if (single.length > 1 || !alone)
      for (const each of single) await runBatch([each], hold, underWay.turn(), true);
    else single[0]?.items[0]?.failed(toErrorBody(cause), cause);
    return single.length > 0;
  };

  const fireTimers = async (member: Member): Promise<void> => {
    member.wantTimers(false);
    if ((await member.timers.look(() => member.store.nextDue())) > 0) return;
    const passOn = await underWay.turn();
    const hold = underWay.hold();
    try {
      const began = now();
      const { transaction, due } = await member.store.lockDue(DUE_TIMERS_MAX);
      // The store may have committed what this process does not know yet. Such a timer fires at the next tick.
      const free = due.filter(({ aggregate }) => hold.isFree(member, aggregate));
      const own = [...new Set(free.map(({ aggregate }) => aggregate))];
      // Alone: a timer fires at the latest moment, so that what it leads to must not hold it up.
      const opening = {
        member,
        transaction,
        own,
        due: free,
        hold,
        passOn,
        alone: true,
        mayAssume: false,
      };
      (await guarded(transaction, () => decideAll(opening, [], began)))();
      if (due.length === DUE_TIMERS_MAX) member.wantTimers(true);
    } finally {
      passOn();
      hold.release();
    }
  };

  /** In a transaction of all, the part of a service that another process owns would be refused, and the others with it. */
  const giveBackOthers = (): void => {
    for (const member of members) if (!member.isOwner()) member.giveBack();
  };

  /** The messages of the next transaction: of each service at most the same share. */
  const takeBatches = (hold: Hold): readonly Batch[] => {
    const ready = members.filter((member) => member.hasBatch());
    const share = Math.max(1, Math.floor(batchMax / ready.length));
    return ready.flatMap((member) => {
      const items = member.take(share, (aggregate) => hold.isFree(member, aggregate));
      if (items.length === 0 && !member.hasBuried()) return [];
      hold.add(member, addressees(items));
      return [{ member, items }];
    });
  };

  /** Begins the next transaction. Resolves when another one may begin. */
  const begin = async (): Promise<void> => {
    const passOn = await underWay.turn();
    giveBackOthers();
    const hold = underWay.hold();
    const before = urgent();
    const batches = takeBatches(hold);
    const awaited = before - urgent();
    if (batches.length === 0) {
      passOn();
      // All waiting messages are for aggregates of a transaction under way.
      if (underWay.count() > 0) await underWay.one();
      return;
    }
    const run = async (): Promise<void> => {
      const isDone = await runBatch(batches, hold, Promise.resolve(passOn));
      hold.release();
      if (isDone) gathering?.ended(awaited);
    };
    await underWay.add(run());
  };

  const hasBatch = (): boolean => members.some((member) => member.hasBatch());

  const drain = async (): Promise<void> => {
    try {
      while (hasBatch() || members.some((member) => member.wantsTimers())) {
        await yieldToEventLoop();
        if (hasBatch()) await gathering?.wait();
        if (hasBatch()) await begin();
        if (isHalted) return;
        for (const member of members)
          if (member.wantsTimers())
            await fireTimers(member).catch((error: unknown) => member.observer.batchFailed(0, error));
      }
    } finally {
      // Synchronous with the last check of the queue: a message accepted a moment later wakes the engine again.
      busy = false;
    }
  };

  const wake = (): void => {
    isHalted = false;
    if (busy) return;
    busy = true;
    running = drain();
  };

  const idle = async (): Promise<void> => {
    for (;;) {
      for (const member of members) member.hurry();
      if (!busy && underWay.count() === 0 && !members.some((member) => member.isPreparing())) return;
      await Promise.all([...members.map((member) => member.prepared()), running, underWay.all()]);
    }
  };

  /** Fires the timers of these services that are due, after the current batch. */
  const tick = (of: readonly Member[]): void => {
    const due = of.filter((member) => member.timers.isDue());
    for (const member of due) member.wantTimers(true);
    if (due.length > 0) wake();
  };

  return {
    /** Resolves when every accepted message is handled. */
    idle,
    /** The same as `tick` of all engines whose services this process owns. */
    tick: (): void => tick(members.filter((member) => member.isOwner())),
    /** The same as `sweep` of these engines, one after another. Throws the first failure after all of them. */
    sweep: async (olderThanMs: number): Promise<void> => {
      const failures: unknown[] = [];
      for (const member of members)
        if (member.isOwner()) await member.sweep(olderThanMs).catch((error: unknown) => failures.push(error));
      if (failures.length > 0) throw failures[0];
    },
    /** Adds a service to the process. */
    add: <To extends Addressed, Event extends { readonly type: string }, Work>(
      service: EngineOptions<Event, Work>,
    ): Engine<To> => {
      const arrived = (): void => gathering?.arrived();
      const parts = { clock, yieldToEventLoop, arrived, wake };
      const member = createMember(service as unknown as AnyService, parts);
      members.push(member);
      return {
        accept: (routed, callbacks) => member.accept({ ...routed, ...callbacks }),
        keepDeadLetter: (row, stored) => member.bury({ row, stored }),
        receive: member.receive,
        hasDecided: member.hasDecided,
        tick: () => tick([member]),
        sweep: member.sweep,
        lookAnew: member.lookAnew,
        backlog: member.backlog,
        flush: member.flush,
      };
    },
  };
};

export type Host = ReturnType<typeof createHost>;

/** One failing callback must not block the others. */
const runCallback = ({ observer }: Member, step: () => void): void => {
  try {
    step();
  } catch (error) {
    observer.callbackFailed(error);
  }
};

type Written = Part & { readonly write: BatchWrite };

/** Commits all parts at once. Returns them with their outbox rows. */
const commit = async <P extends Written>(
  parts: readonly P[],
): Promise<readonly (P & { readonly row: string | undefined })[]> => {
  const [first, ...joined] = parts;
  if (first === undefined) return [];
  const isIdle = ({ write, session }: P): boolean => isEmpty(write) && session.transaction.isAssumed !== true;
  if (parts.every(isIdle)) {
    await first.session.transaction.rollback();
    return [];
  }
  const rows = joined.map((part) => (isIdle(part) ? undefined : part.session.transaction.commit(part.write)));
  // The first part commits for all, so its call comes last.
  const own = first.session.transaction.commit(first.write);
  const all = await Promise.all([own, ...rows]);
  return parts.map((part, index) => ({ ...part, row: all[index] }));
};

/** Ends the transaction when its body fails. */
const guarded = async <R>(transaction: Transaction, body: () => Promise<R>): Promise<R> => {
  try {
    return await body();
  } catch (error) {
    await transaction.rollback();
    throw error;
  }
};
