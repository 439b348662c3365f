import type { EffectEvent, RunEffect } from '@holdpoint/contracts/effect/effect';
import { type Decision, decision } from '@holdpoint/runtime/decider';
import type { EffectWork, Made, Place } from './messages.ts';
import { aboutOrder, type EffectState, entryIn } from './state.ts';

/** A worker that is not heard of for so long may be dead: the effect is then in doubt. */
export const LEASE_MS = 10_000;
/** An order that waits for a place is offered again after this, in case the executor that knew of it has gone. */
const REOFFER_MS = 5_000;

export const nothing: Made = decision({});

export const start = (state: EffectState, order: RunEffect, place: Place, now: number): Made => {
  const epoch = (entryIn(state)?.epoch ?? 0) + 1;
  const { worker, journal, slot, since } = place;
  return decision<EffectEvent, EffectWork>({
    events: [
      ...(entryIn(state)?.held === undefined ? [] : [{ type: 'released' as const, ...aboutOrder(order) }]),
      { type: 'started', ...aboutOrder(order), order, epoch, worker, journal },
    ],
    timers: [
      { set: 'lease', dueAt: now + LEASE_MS },
      ...(state.status === 'absent' ? [] : [{ clear: 'place' }]),
    ],
    work: [{ kind: 'start', order, epoch, slot, ...(since !== undefined && { since }) }],
  });
};

export const awaitPlace = (
  order: RunEffect,
  now: number,
  isHeld = false,
): Pick<Decision<EffectEvent, EffectWork>, 'timers' | 'work'> => ({
  timers: [{ set: 'place', dueAt: now + REOFFER_MS }],
  work: [{ kind: 'await_place', order, ...(isHeld && { held: true }) }],
});
