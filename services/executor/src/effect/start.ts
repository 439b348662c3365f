import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { type Decision, decision } from '@holdpoint/runtime/decider';
import type { EffectWork, EffectDecision, Slot } from './messages.ts';
import { attemptRef, type EffectState, entryIn } from './state.ts';

/** A worker that is not heard of for so long may be dead: the effect is then in doubt. */
export const LEASE_MS = 10_000;
/** An order that waits for a place is offered again after this, in case the executor that knew of it has gone. */
const REOFFER_MS = 5_000;

export const nothing: EffectDecision = decision({});

export const start = (state: EffectState, order: RunEffect, place: Slot, now: number): EffectDecision => {
  const epoch = (entryIn(state)?.epoch ?? 0) + 1;
  const { worker, journal, id: slot, since } = place;
  return decision<EffectEvent, EffectWork>({
    events: [
      ...(entryIn(state)?.deferred === undefined ? [] : [{ type: 'released' as const, ...attemptRef(order) }]),
      { type: 'started', ...attemptRef(order), order, epoch, worker, journal },
    ],
    timers: [
      { set: 'lease', dueAt: now + LEASE_MS },
      ...(state.status === 'absent' ? [] : [{ clear: 'place' }]),
    ],
    work: [{ kind: 'start', order, epoch, slot, ...(since !== undefined && { since }) }],
  });
};

export const awaitSlot = (
  order: RunEffect,
  now: number,
  isHeld = false,
): Pick<Decision<EffectEvent, EffectWork>, 'timers' | 'work'> => ({
  timers: [{ set: 'place', dueAt: now + REOFFER_MS }],
  work: [{ kind: 'await_place', order, ...(isHeld && { held: true }) }],
});
