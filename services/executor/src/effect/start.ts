import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { type Decision, decision } from '@holdpoint/runtime/decider';
import type { EffectDecision, EffectWork, Slot } from './messages.ts';
import { attemptRef, type EffectState, entryIn } from './state.ts';
import type { Moment } from './timing.ts';

export const nothing: EffectDecision = decision({});

export const start = (
  state: EffectState,
  order: RunEffect,
  { worker, journal, slot, since }: Slot,
  { now, timing }: Moment,
): EffectDecision => {
  const epoch = (entryIn(state)?.epoch ?? 0) + 1;
  return decision<EffectEvent, EffectWork>({
    events: [
      ...(entryIn(state)?.deferred === undefined
        ? []
        : [{ type: 'undeferred' as const, ...attemptRef(order) }]),
      { type: 'started', ...attemptRef(order), order, epoch, worker, journal },
    ],
    timers: [
      { set: 'lease', dueAt: now + timing.leaseMs },
      ...(state.status === 'absent' ? [] : [{ clear: 'slot' }]),
    ],
    work: [{ kind: 'start', order, epoch, slot, ...(since !== undefined && { since }) }],
  });
};

export const awaitSlot = (
  order: RunEffect,
  { now, timing }: Moment,
  isDeferred = false,
): Pick<Decision<EffectEvent, EffectWork>, 'timers' | 'work'> => ({
  timers: [{ set: 'slot', dueAt: now + timing.reofferMs }],
  work: [{ kind: 'await_slot', order, ...(isDeferred && { deferred: true }) }],
});
