import { eventType } from '@holdpoint/contracts/bus/cloudevents';
import type { EffectDuplicatePrevented, EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { digestOf } from '@holdpoint/contracts/values/json';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { decision } from '@holdpoint/runtime/decider';
import { isWork } from './admission.ts';
import type { EffectDecision } from './messages.ts';
import { type AttemptRef, attemptRef, type EffectState, entryIn, isWaiting } from './state.ts';

/** Sends the outcome again, to a requester that orders or cancels again. */
export const repeatOutcome = (event: EffectEvent, now: number): EffectDecision =>
  decision({
    send: [
      {
        subject: subjects.event('effect', event.type, event.id),
        // One batch, and so one moment, may hold two different answers.
        id: `effect.${event.id}.again.${digestOf(event).slice(0, 16)}.${String(now)}`,
        type: eventType('effect', event.type),
        data: event,
      },
    ],
  });

type Final = Extract<EffectState, { status: 'applied' | 'not_applied' | 'in_doubt' | 'cancelled' }>;

/** The event of an outcome that no order can change. */
export const finalEvent = (state: Final, ref: AttemptRef): EffectEvent => {
  switch (state.status) {
    case 'applied':
      return { type: 'applied', ...ref, epoch: state.entry.epoch, outputs: state.outputs };
    case 'not_applied':
      return { type: 'not_applied', ...ref, epoch: state.entry.epoch, reason: state.reason, by: state.by };
    case 'in_doubt': {
      const { reason, next, cause } = state;
      return { type: 'in_doubt', ...ref, epoch: state.entry.epoch, reason, next, cause };
    }
    case 'cancelled':
      return { type: 'cancelled', ...ref, reason: state.reason };
  }
};

/** The recorded outcome, as the answer to an order. */
export const recordedOutcome = (state: EffectState, order: RunEffect): EffectEvent | undefined => {
  const ref = attemptRef(order);
  switch (state.status) {
    case 'applied':
    case 'not_applied':
    case 'in_doubt':
    case 'cancelled':
      return finalEvent(state, ref);
    case 'failed_clean':
      return { type: 'failed_clean', ...ref, epoch: state.entry.epoch, error: state.error };
    case 'refused':
      return { type: 'refused', ...ref, order, error: state.error };
    case 'absent':
    case 'prepared':
    case 'started':
      return undefined;
  }
};

/** The deferral of a waiting effect, for a requester that may have missed it. */
export const deferredEvent = (state: EffectState, ref: AttemptRef): EffectEvent | undefined => {
  const deferral = isWaiting(state) ? state.entry.deferred : undefined;
  return deferral && { type: 'deferred', ...ref, ...deferral };
};

/** Cancelled and refused effects never happened, so that they are no duplicates. */
const preventedBy = ({ status }: EffectState): EffectDuplicatePrevented['outcome'] | undefined =>
  status === 'applied' || status === 'not_applied' || status === 'in_doubt' ? status : undefined;

/** Bounds the history: a requester may number attempts without end. */
const PREVENTED_MAX = 100;

/** A prevented duplicate is recorded once for each attempt. Repeated work is not recorded: it is harmless. */
export const prevented = (state: EffectState, order: RunEffect): readonly EffectEvent[] => {
  const standing = preventedBy(state);
  const { starts = 0, prevented: known = [] } = entryIn(state) ?? {};
  const isNew = starts > 0 && known.length < PREVENTED_MAX && !known.includes(order.attempt);
  return standing !== undefined && isNew && !isWork(order)
    ? [{ type: 'duplicate_prevented', ...attemptRef(order), outcome: standing }]
    : [];
};
