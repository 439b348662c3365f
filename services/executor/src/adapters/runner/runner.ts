import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { StoredArtifact } from '@holdpoint/contracts/effect/stored-artifact';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { Routed } from '@holdpoint/runtime/engine/inbound';
import type { Addressed } from '@holdpoint/runtime/engine/kinds';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { isWork } from '../../effect/admission.ts';
import type { EffectMessage, EffectWork, Outcome, Slot } from '../../effect/decide.ts';
import type { Deferral, Unended } from '../../effect/state.ts';
import { DEFAULT_TIMING, type EffectTiming } from '../../effect/timing.ts';
import type { EffectContext } from '../../ports/capability.ts';
import type { HandlerRegistry } from '../../ports/handler-registry.ts';
import { LeaseOver } from '../circuits/breaker.ts';
import type { CircuitGuard } from '../circuits/circuits.ts';
import type { DeferralOf } from '../circuits/why-waiting.ts';
import { hiddenFinding, hiddenOutcome } from '../secrets/hidden-outcome.ts';
import { type StartSecrets, withoutSecrets } from '../secrets/secrets.ts';
import type { Slots } from '../slots/slots.ts';
import { execute, type JournalStart, probe } from './execute.ts';
import type { StepOutput } from './log-lines.ts';

type Start = Extract<EffectWork, { kind: 'start' }>;
type Probe = Extract<EffectWork, { kind: 'probe' }>;
type AwaitSlot = Extract<EffectWork, { kind: 'await_slot' }>;
export type ToEffect = Addressed<'effect', EffectMessage>;
type Accept = (routed: Routed<ToEffect>) => void;
type Running = {
  readonly order: RunEffect;
  readonly controller: AbortController;
  readonly done: Promise<void>;
};

type FitOutcome = (
  order: RunEffect,
  epoch: number,
  outcome: Outcome,
  printed: StoredArtifact | undefined,
) => Promise<Outcome>;

export type RunnerParts = {
  readonly capabilities: HandlerRegistry;
  readonly slots: Slots;
  readonly clock: Clock;
  readonly journalStart: JournalStart;
  /** Must equal the timing of the ledger's decider. Left out: the default durations. */
  readonly timing?: EffectTiming;
  /** Guards every call to a target. Left out: failures open no circuit. */
  readonly guard?: CircuitGuard;
  /** Why a waiting order may not begin, besides a missing slot. Left out: there is no such reason. */
  readonly deferralOf?: DeferralOf;
  /** Whether none of these lost starts can still act. Left out: only when there are none. */
  readonly allEnded?: (unended: readonly Unended[]) => boolean;
  /** The secrets of a start. Left out: there are none. */
  readonly secretsOf?: (order: RunEffect) => StartSecrets;
  /** The destination of a start's output. Left out: the output is dropped. */
  readonly linesOf?: (order: RunEffect, epoch: number) => StepOutput;
  /** Moves large outputs of an outcome to artifacts, so that the ledger can take it. Left out: outcomes stay as they are. */
  readonly fit?: FitOutcome;
  readonly log: Logger;
};

/** An effect that waits for a slot. There may be tens of thousands: the ledger has their orders. */
type Queued = {
  readonly attempt: number;
  readonly deferral: () => Deferral | undefined;
  readonly accept: Accept;
  /** The deferral was stated. */
  isDeferred: boolean;
};

const NEVER_DEFERRED: DeferralOf = () => () => undefined;
const NONE_LOST = (unended: readonly Unended[]): boolean => unended.length === 0;
const UNWATCHED: StepOutput = { print: () => undefined, end: () => Promise.resolve(undefined) };
const AS_IT_IS: FitOutcome = (_order, _epoch, outcome) => Promise.resolve(outcome);
const keyOf = (id: string, epoch: number): string => `${id} ${String(epoch)}`;

/** The lease of a start as this process sees it, by its monotonic clock. */
const leaseOf = (
  order: RunEffect,
  since: number | undefined,
  clock: Clock,
  { beginBeforeMs, inForceMs }: EffectTiming,
) => {
  const now = clock.now();
  const begins = now + (isWork(order) ? inForceMs : beginBeforeMs);
  let until = Math.min(begins, (since ?? now) + inForceMs);
  return {
    /** A heartbeat sent at this time was decided. Work whose lease had expired would have been aborted instead. */
    extendedFrom: (sentAt: number): void => {
      if (isWork(order)) until = Math.max(until, sentAt + inForceMs);
    },
    assertInForce: (): void => {
      if (clock.now() <= until) return;
      throw new LeaseOver(errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'The lease expired before it began'));
    },
  };
};

/** Executes the starts and probes of the ledger, and reports their results to it. */
export const createRunner = ({
  capabilities,
  slots,
  clock,
  journalStart,
  timing = DEFAULT_TIMING,
  deferralOf = NEVER_DEFERRED,
  allEnded = NONE_LOST,
  secretsOf = withoutSecrets,
  guard,
  linesOf,
  fit = AS_IT_IS,
  log,
}: RunnerParts) => {
  const running = new Map<string, Running>();
  /** Effects that wait for a slot. The ledger may offer one of them repeatedly; it waits once. */
  const queued = new Map<RunEffect['id'], Queued>();
  const slotsOfRunning = new Set<number>();
  /** Running probes, by their slots. */
  const probing = new Map<number, { readonly controller: AbortController; readonly done: Promise<void> }>();
  let stopping = false;
  let isWatching = false;

  const begin = ({ order, epoch, slot, since }: Start, accept: Accept): void => {
    const controller = new AbortController();
    const { extendedFrom, assertInForce } = leaseOf(order, since, clock, timing);
    const endHeartbeat = clock.every(timing.heartbeatMs, () => {
      const sentAt = clock.now();
      const onDone = (): void => extendedFrom(sentAt);
      accept({ kind: 'effect', aggregate: order.id, message: { kind: 'heartbeat', epoch }, onDone });
    });
    const lines = linesOf?.(order, epoch) ?? UNWATCHED;
    const { signal } = controller;
    const secrets = secretsOf(order);
    const say: EffectContext['say'] = (stream, line) => lines.print(stream, secrets.hideListed(line));
    const context = { effectId: order.id, order, epoch, signal, assertInForce, secrets, say };
    const key = keyOf(order.id, epoch);
    const done = execute(capabilities.get(order.effect.uses), order, context, {
      journalStart,
      ...(guard !== undefined && { guard }),
      hide: secrets.hideIn,
      log,
    })
      .then((outcome) => hiddenOutcome(outcome, secrets.hideIn))
      // Still under the lease: writing a large log to the disk takes a moment.
      .then(async (outcome) => fit(order, epoch, outcome, await lines.end()))
      .then((outcome) => {
        endHeartbeat();
        // A restored ledger may have started it again under the same key: that start keeps its entry.
        if (running.get(key)?.controller === controller) running.delete(key);
        slotsOfRunning.delete(slot);
        accept({
          kind: 'effect',
          aggregate: order.id,
          message: { kind: 'outcome', epoch, outcome: reportedOutcome(order, signal, outcome) },
        });
        slots.free(slot);
      });
    running.set(key, { order, controller, done });
    slotsOfRunning.add(slot);
  };

  const startProbe = ({ order, epoch, slot, unended }: Probe, accept: Accept): void => {
    const controller = new AbortController();
    const { signal } = controller;
    const secrets = secretsOf(order);
    const context = {
      effectId: order.id,
      order,
      epoch,
      signal,
      assertInForce: () => undefined,
      secrets,
      say: UNWATCHED.print,
    };
    // A start that this process is still running has not ended, even if its lease has.
    const isRunning = [...running.values()].some((each) => each.order.id === order.id);
    const done = probe(capabilities.get(order.effect.uses), context, {
      allEnded: !isRunning && allEnded(unended),
      ...(guard !== undefined && { guard }),
      hide: secrets.hideIn,
      log,
    }).then((result) => {
      const finding = hiddenFinding(result, secrets.hideIn);
      probing.delete(slot);
      // A stopping executor proves nothing about the effect: the next probe will.
      const interrupted = signal.aborted && finding.found === 'unknown';
      if (!interrupted)
        accept({ kind: 'effect', aggregate: order.id, message: { kind: 'probed', epoch, finding } });
      slots.free(slot);
    });
    probing.set(slot, { controller, done });
  };

  const abortAll = (which: (order: RunEffect) => boolean): void => {
    for (const { order, controller } of running.values()) if (which(order)) controller.abort();
  };

  const usesSlot = (wanted: number): boolean => probing.has(wanted) || slotsOfRunning.has(wanted);

  /** A slot that is about to be offered to the ledger. */
  const stamped = (slot: Slot): Slot => ({ ...slot, since: clock.now() });

  /** States once that the circuit of a target defers an effect. */
  const stateDeferral = (id: RunEffect['id'], waiting: Queued): void => {
    const deferral = waiting.isDeferred ? undefined : waiting.deferral();
    if (deferral === undefined) return;
    waiting.isDeferred = true;
    const { attempt, accept } = waiting;
    accept({ kind: 'effect', aggregate: id, message: { kind: 'deferred', attempt, ...deferral } });
  };

  /** A circuit may open while effects wait. */
  const watchCircuits = (): void => {
    if (isWatching || queued.size === 0 || stopping) return;
    isWatching = true;
    clock.after(timing.reofferMs, () => {
      isWatching = false;
      for (const [id, waiting] of queued) stateDeferral(id, waiting);
      watchCircuits();
    });
  };

  const awaitSlot = ({ order, deferred }: AwaitSlot, accept: Accept): void => {
    const { id, attempt } = order;
    const waited = queued.has(id);
    queued.set(id, { attempt, deferral: deferralOf(order), accept, isDeferred: deferred === true });
    if (!waited) slots.wait(order, onSlot(id, accept));
    const waiting = queued.get(id);
    if (waiting !== undefined) stateDeferral(id, waiting);
    watchCircuits();
  };

  const onSlot =
    (id: RunEffect['id'], accept: Accept) =>
    (slot: Slot): void => {
      queued.delete(id);
      // Once the claim is decided the slot is in use, or free for the next order.
      const onDone = (): void => (usesSlot(slot.slot) ? undefined : slots.free(slot.slot));
      if (stopping) onDone();
      else
        accept({
          kind: 'effect',
          aggregate: id,
          message: { kind: 'claim', id, slot: stamped(slot) },
          onDone,
        });
    };

  return {
    perform: (work: EffectWork, accept: Accept): void => {
      switch (work.kind) {
        case 'start':
          return begin(work, accept);
        case 'probe':
          return startProbe(work, accept);
        case 'abort':
          return running.get(keyOf(work.id, work.epoch))?.controller.abort();
        case 'await_slot':
          return awaitSlot(work, accept);
      }
    },
    usesSlot,
    stamped,
    /** Whether an effect waits for a slot here. */
    isQueued: (id: RunEffect['id']): boolean => queued.has(id),
    /**
     * Waits for running effects, and aborts the rest after `graceMs`; their leases end in doubt. Work is aborted at once: it may
     * take hours, and another executor repeats it.
     */
    stop: async (graceMs: number): Promise<void> => {
      stopping = true;
      const all = Promise.all([...running.values(), ...probing.values()].map(({ done }) => done));
      abortAll(isWork);
      for (const { controller } of probing.values()) controller.abort();
      const cancelAbort = clock.after(graceMs, () => abortAll(() => true));
      await Promise.race([all, new Promise<void>((resolve) => void clock.after(graceMs * 2, resolve))]);
      cancelAbort();
    },
  };
};

export type Runner = ReturnType<typeof createRunner>;

/** The result of interrupted work proves nothing: unless it was cancelled, it is repeated. */
const reportedOutcome = (order: RunEffect, signal: AbortSignal, outcome: Outcome): Outcome =>
  isWork(order) && signal.aborted ? { kind: 'unknown', reason: 'it was interrupted' } : outcome;
