import { eventType } from '@holdpoint/contracts/bus/cloudevents';
import type { EffectDuplicatePrevented, EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { digestOf } from '@holdpoint/contracts/values/json';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { decision } from '@holdpoint/runtime/decider';
import { isWork } from './admission.ts';
import type { EffectDecision } from './messages.ts';
import { type AttemptRef, attemptRef, type EffectState, entryIn, isWaiting } from './state.ts';

/** Tells the outcome again to whoever orders or cancels again; nothing is done twice. */
export const repeatOutcome = (fact: EffectEvent, now: number): EffectDecision =>
  decision({
    send: [
      {
        subject: subjects.fact('effect', fact.type, fact.id),
        // Two different answers may be due in the same batch, and so at the same moment.
        id: `effect.${fact.id}.again.${digestOf(fact).slice(0, 16)}.${String(now)}`,
        type: eventType('effect', fact.type),
        data: fact,
      },
    ],
  });

type Final = Extract<EffectState, { status: 'applied' | 'not_applied' | 'in_doubt' | 'cancelled' }>;

/** What no order changes any more, as the fact that says so. */
export const finalEvent = (state: Final, about: AttemptRef): EffectEvent => {
  switch (state.status) {
    case 'applied':
      return { type: 'applied', ...about, epoch: state.entry.epoch, outputs: state.outputs };
    case 'not_applied':
      return { type: 'not_applied', ...about, epoch: state.entry.epoch, reason: state.reason, by: state.by };
    case 'in_doubt': {
      const { reason, next, cause } = state;
      return { type: 'in_doubt', ...about, epoch: state.entry.epoch, reason, next, cause };
    }
    case 'cancelled':
      return { type: 'cancelled', ...about, reason: state.reason };
  }
};

/** The outcome that stands, as an answer to an order of it. */
export const recordedOutcome = (state: EffectState, order: RunEffect): EffectEvent | undefined => {
  const about = attemptRef(order);
  switch (state.status) {
    case 'applied':
    case 'not_applied':
    case 'in_doubt':
    case 'cancelled':
      return finalEvent(state, about);
    case 'failed_clean':
      return { type: 'failed_clean', ...about, epoch: state.entry.epoch, error: state.error };
    case 'refused':
      return { type: 'refused', ...about, order, error: state.error };
    case 'absent':
    case 'prepared':
    case 'started':
      return undefined;
  }
};

/** That it waits for its target, once more: whoever orders again may not have heard of it. */
export const deferredEvent = (state: EffectState, about: AttemptRef): EffectEvent | undefined => {
  const held = isWaiting(state) ? state.entry.deferred : undefined;
  return held && { type: 'held', ...about, ...held };
};

/** What may have happened, or was looked into, and is not to happen again. What was cancelled or refused never did. */
const standingOf = ({ status }: EffectState): EffectDuplicatePrevented['standing'] | undefined =>
  status === 'applied' || status === 'not_applied' || status === 'in_doubt' ? status : undefined;

/** Anybody who may order at all can number attempts; the history of an effect does not grow with that for ever. */
const PREVENTED_MAX = 100;

/** What could have happened twice is recorded, once for every attempt; that work comes again is nothing special. */
export const prevented = (state: EffectState, order: RunEffect): readonly EffectEvent[] => {
  const standing = standingOf(state);
  const { starts = 0, prevented: known = [] } = entryIn(state) ?? {};
  const isNew = starts > 0 && known.length < PREVENTED_MAX && !known.includes(order.attempt);
  return standing !== undefined && isNew && !isWork(order)
    ? [{ type: 'duplicate_prevented', ...attemptRef(order), standing }]
    : [];
};
