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
import { type EffectMessage, type EffectWork, LEASE_MS, type Outcome } from '../domain/effect.ts';
import type { Places } from './places.ts';

const HEARTBEAT_MS = LEASE_MS / 3;
/** A lease counts from before its commit, which may take seconds; what has not begun so long after it no longer may. */
const BEGIN_BEFORE_MS = LEASE_MS / 4;

/** Notes a start where it outlasts the ledger; resolves once that is on the disk. Until then nothing may leave. */
export type NoteStart = (order: RunEffect, epoch: number) => Promise<void>;

type Accept = (routed: Routed<EffectMessage>) => void;
type Running = { readonly controller: AbortController; readonly slot: number; readonly done: Promise<void> };

export type RunnerParts = {
  readonly capabilities: readonly Capability[];
  readonly places: Places;
  readonly clock: Clock;
  /** Resolves once the start is in the journal. */
  readonly note: NoteStart;
  readonly log: Logger;
};

/** Carries out what the ledger has started, and hands back what came of it. */
export const createRunner = ({ capabilities, places, clock, note, log }: RunnerParts) => {
  const byLabel = new Map(capabilities.map((capability) => [capability.uses, capability]));
  const running = new Map<string, Running>();
  /** Effects that wait for a place. The ledger offers each of them again and again; it waits once. */
  const queued = new Set<string>();
  let stopping = false;

  const begin = (order: RunEffect, epoch: number, slot: number, accept: Accept): void => {
    const controller = new AbortController();
    // The lease as this process sees it, by a clock that nobody can set.
    const beginUntil = clock.now() + BEGIN_BEFORE_MS;
    const endHeartbeat = clock.every(HEARTBEAT_MS, () =>
      accept({ aggregate: order.id, message: { kind: 'heartbeat', epoch } }),
    );
    const assertInForce = (): void => {
      if (clock.now() > beginUntil)
        throw new CleanFailure(
          errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'the lease was over before it began'),
        );
    };
    const context = { effectId: order.id, epoch, signal: controller.signal, assertInForce };
    const done = carryOut(byLabel.get(order.effect.uses), order, context, { note, log }).then((outcome) => {
      endHeartbeat();
      // A repeat of the same effect may have begun meanwhile; it is not this start's to forget.
      if (running.get(order.id)?.controller === controller) running.delete(order.id);
      accept({ aggregate: order.id, message: { kind: 'outcome', epoch, outcome } });
      places.free(slot);
    });
    running.set(order.id, { controller, slot, done });
  };

  const usesSlot = (wanted: number): boolean => [...running.values()].some(({ slot }) => slot === wanted);

  return {
    perform: (work: EffectWork, accept: Accept): void => {
      switch (work.kind) {
        case 'start':
          return begin(work.order, work.epoch, work.slot, accept);
        case 'abort':
          return running.get(work.id)?.controller.abort();
        case 'await_place':
          if (queued.has(work.id)) return undefined;
          queued.add(work.id);
          return places.wait((place) => {
            queued.delete(work.id);
            // Once the claim is decided the place is in use, or goes on to the next.
            const released = (): void => (usesSlot(place.slot) ? undefined : places.free(place.slot));
            if (stopping) released();
            else accept({ aggregate: work.id, message: { kind: 'claim', id: work.id, place }, released });
          });
      }
    },
    usesSlot,
    /** Waits for what runs to end; what does not is aborted, and its lease tells the rest. */
    stop: async (graceMs: number): Promise<void> => {
      stopping = true;
      const all = Promise.all([...running.values()].map(({ done }) => done));
      const callOff = clock.after(graceMs, () => {
        for (const { controller } of running.values()) controller.abort();
      });
      await Promise.race([all, new Promise<void>((resolve) => void clock.after(graceMs * 2, resolve))]);
      callOff();
    },
  };
};

export type Runner = ReturnType<typeof createRunner>;

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
