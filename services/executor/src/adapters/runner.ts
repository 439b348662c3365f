import { errorBody } from '@holdpoint/contracts/errors';
import type { RunEffect } from '@holdpoint/contracts/effect';
import type { Clock } from '@holdpoint/runtime/clock';
import type { Routed } from '@holdpoint/runtime/inbound';
import { errorFields } from '@holdpoint/runtime/error-fields';
import type { Logger } from '@holdpoint/runtime/log';
import {
  type Capability,
  CleanFailure,
  type EffectContext,
  OutcomeUnknown,
} from '../capabilities/capability.ts';
import { isWork } from '../domain/admission.ts';
import { type EffectMessage, type EffectWork, LEASE_MS, type Outcome } from '../domain/effect.ts';
import type { StepLines } from './log-lines.ts';
import type { Places } from './places.ts';

const HEARTBEAT_MS = LEASE_MS / 3;
/** A lease counts from before its commit, which may take seconds; what has not begun so long after it no longer may. */
const BEGIN_BEFORE_MS = LEASE_MS / 4;
/** Work may begin something as long as the ledger has lately heard of it: whatever it does twice does no harm. */
const WORK_BEGINS_BEFORE_MS = (LEASE_MS * 3) / 4;

/** Notes a start where it outlasts the ledger; resolves once that is on the disk. Until then nothing may leave. */
export type NoteStart = (order: RunEffect, epoch: number) => Promise<void>;

type Accept = (routed: Routed<EffectMessage>) => void;
type Running = {
  readonly order: RunEffect;
  readonly controller: AbortController;
  readonly slot: number;
  readonly done: Promise<void>;
};

export type RunnerParts = {
  readonly capabilities: readonly Capability[];
  readonly places: Places;
  readonly clock: Clock;
  /** Resolves once the start is in the journal. */
  readonly note: NoteStart;
  /** Where the output of a start goes. Without it nobody watches. */
  readonly linesOf?: (order: RunEffect, epoch: number) => StepLines;
  readonly log: Logger;
};

const UNWATCHED: StepLines = { say: () => undefined, end: () => undefined };
const keyOf = (id: string, epoch: number): string => `${id} ${String(epoch)}`;

/** The lease of a start as this process sees it, by a clock that nobody can set. */
const leaseOf = (order: RunEffect, clock: Clock) => {
  const span = isWork(order) ? WORK_BEGINS_BEFORE_MS : BEGIN_BEFORE_MS;
  let until = clock.now() + span;
  return {
    /** A heartbeat that was sent at that time has been decided: work whose lease is over hears so, and is aborted. */
    extendedFrom: (sentAt: number): void => {
      if (isWork(order)) until = Math.max(until, sentAt + span);
    },
    assertInForce: (): void => {
      if (clock.now() <= until) return;
      throw new CleanFailure(errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'the lease was over before it began'));
    },
  };
};

/** Carries out what the ledger has started, and hands back what came of it. */
export const createRunner = ({ capabilities, places, clock, note, linesOf, log }: RunnerParts) => {
  const byLabel = new Map(capabilities.map((capability) => [capability.uses, capability]));
  const running = new Map<string, Running>();
  /** Effects that wait for a place. The ledger offers each of them again and again; it waits once. */
  const queued = new Set<string>();
  let stopping = false;

  const begin = (order: RunEffect, epoch: number, slot: number, accept: Accept): void => {
    const controller = new AbortController();
    const { extendedFrom, assertInForce } = leaseOf(order, clock);
    const endHeartbeat = clock.every(HEARTBEAT_MS, () => {
      const sentAt = clock.now();
      const released = (): void => extendedFrom(sentAt);
      accept({ aggregate: order.id, message: { kind: 'heartbeat', epoch }, released });
    });
    const lines = linesOf?.(order, epoch) ?? UNWATCHED;
    const { signal } = controller;
    const context = { effectId: order.id, order, epoch, signal, assertInForce, say: lines.say };
    const key = keyOf(order.id, epoch);
    const done = carryOut(byLabel.get(order.effect.uses), order, context, { note, log }).then((outcome) => {
      endHeartbeat();
      lines.end();
      // It may have begun again meanwhile, in a ledger that was set back: that is not this start's to forget.
      if (running.get(key)?.controller === controller) running.delete(key);
      accept({
        aggregate: order.id,
        message: { kind: 'outcome', epoch, outcome: asFarAsItGot(order, signal, outcome) },
      });
      places.free(slot);
    });
    running.set(key, { order, controller, slot, done });
  };

  const abortAll = (which: (order: RunEffect) => boolean): void => {
    for (const { order, controller } of running.values()) if (which(order)) controller.abort();
  };

  const usesSlot = (wanted: number): boolean => [...running.values()].some(({ slot }) => slot === wanted);

  return {
    perform: (work: EffectWork, accept: Accept): void => {
      switch (work.kind) {
        case 'start':
          return begin(work.order, work.epoch, work.slot, accept);
        case 'abort':
          return running.get(keyOf(work.id, work.epoch))?.controller.abort();
        case 'await_place':
          if (queued.has(work.id)) return undefined;
          queued.add(work.id);
          return places.wait(work.uses, (place) => {
            queued.delete(work.id);
            // Once the claim is decided the place is in use, or goes on to the next.
            const released = (): void => (usesSlot(place.slot) ? undefined : places.free(place.slot));
            if (stopping) released();
            else accept({ aggregate: work.id, message: { kind: 'claim', id: work.id, place }, released });
          });
      }
    },
    usesSlot,
    /**
     * Waits for what runs to end; what does not is aborted, and its lease tells the rest. Work is not waited for: it may take
     * hours, and is done again elsewhere.
     */
    stop: async (graceMs: number): Promise<void> => {
      stopping = true;
      const all = Promise.all([...running.values()].map(({ done }) => done));
      abortAll(isWork);
      const callOff = clock.after(graceMs, () => abortAll(() => true));
      await Promise.race([all, new Promise<void>((resolve) => void clock.after(graceMs * 2, resolve))]);
      callOff();
    },
  };
};

export type Runner = ReturnType<typeof createRunner>;

/** Work that was interrupted says nothing of itself, whatever it returns: unless it was called off, it is done again. */
const asFarAsItGot = (order: RunEffect, signal: AbortSignal, outcome: Outcome): Outcome =>
  isWork(order) && signal.aborted ? { kind: 'unknown', reason: 'it was interrupted' } : outcome;

const carryOut = async (
  capability: Capability | undefined,
  order: RunEffect,
  context: EffectContext,
  { note, log }: Pick<RunnerParts, 'note' | 'log'>,
): Promise<Outcome> => {
  if (capability === undefined) {
    return {
      kind: 'failed_clean',
      error: errorBody('EXECUTOR_UNKNOWN_CAPABILITY', `this executor has no ${order.effect.uses}`),
    };
  }
  const input = capability.input.safeParse(order.effect.args);
  if (!input.success) {
    const problems = input.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    return { kind: 'failed_clean', error: errorBody('EXECUTOR_INVALID_ARGUMENTS', problems.join('; ')) };
  }
  try {
    await note(order, context.epoch);
  } catch (error) {
    log.error({ ...errorFields(error), effect: order.id }, 'a start could not be noted in the journal');
    return {
      kind: 'failed_clean',
      error: errorBody('EXECUTOR_JOURNAL_UNAVAILABLE', 'the journal cannot be written, so nothing was begun'),
    };
  }
  try {
    return { kind: 'applied', outputs: await capability.run(input.data, context) };
  } catch (error) {
    if (error instanceof CleanFailure) return { kind: 'failed_clean', error: error.body };
    log.error(
      { ...errorFields(error), effect: order.id, uses: order.effect.uses },
      'effect ended without a certain outcome',
    );
    const reason =
      error instanceof OutcomeUnknown
        ? error.message
        : 'the effect ended with an error that does not say whether it happened';
    return { kind: 'unknown', reason };
  }
};
