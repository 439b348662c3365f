import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { decision } from '@holdpoint/runtime/decider';
import { repeatOrProbe } from './in-doubt.ts';
import type { Admission, EffectMessage, EffectWork, EffectDecision, Slot } from './messages.ts';
import { attemptRef, type EffectState, entryIn, isWaiting } from './state.ts';
import { deferredEvent, prevented, recordedOutcome, repeatOutcome } from './recorded-outcome.ts';
import { awaitSlot, nothing, start } from './start.ts';

/** Of the name of a target, which a module of an operator's own may make as long as it likes. */
const TARGET_MAX = 512;

/** An order that may begin: at once where there is a place, else it is kept until there is one. */
const admit = (
  state: EffectState,
  order: RunEffect,
  place: Slot | undefined,
  now: number,
  admission: Admission,
): EffectDecision => {
  const error = admission(order, now);
  if (error !== undefined) {
    return decision<EffectEvent, EffectWork>({
      events: [{ type: 'refused', ...attemptRef(order), order, error }],
      timers: state.status === 'absent' ? [] : [{ clear: 'place' }],
    });
  }
  if (place !== undefined) return start(state, order, place, now);
  return decision<EffectEvent, EffectWork>({
    events: [{ type: 'prepared', ...attemptRef(order), order }],
    ...awaitSlot(order, now),
  });
};

/** A forgery that was refused must not stand in the way of what it imitates, so effects are compared by what they say. */
const isSameOrder = (one: RunEffect, other: RunEffect): boolean =>
  one.grant === other.grant &&
  one.digest === other.digest &&
  effectDigest(one.effect) === effectDigest(other.effect);

/** It was cancelled while it ran, and nothing came of it: whoever orders it anew has not heard of that. */
const cancelledEarlier = (order: RunEffect): EffectDecision =>
  decision({
    events: [
      { type: 'cancelled', ...attemptRef(order), reason: 'it was cancelled while an earlier attempt ran' },
    ],
  });

/** States in which nothing has happened, so that a newer order may begin. */
const CLEAN: ReadonlySet<EffectState['status']> = new Set([
  'absent',
  'failed_clean',
  'not_applied',
  'refused',
]);

export const run = (
  state: EffectState,
  order: RunEffect,
  place: Slot | undefined,
  now: number,
  admission: Admission,
): EffectDecision => {
  const entry = entryIn(state);
  if (entry !== undefined && entry.order.digest !== order.digest && state.status !== 'refused') {
    const error = errorBody('ERR_IDEMPOTENCY_CONFLICT', 'another effect was ordered under this key before');
    return repeatOutcome({ type: 'refused', ...attemptRef(order), order, error }, now);
  }
  // Nothing has happened under this order, and it is a new one: a later attempt, or a new grant after a refusal.
  const clean = CLEAN.has(state.status);
  const newer = entry === undefined || order.attempt > entry.order.attempt || !isSameOrder(order, entry.order);
  if (clean && newer) return entry?.cancelRequested ? cancelledEarlier(order) : admit(state, order, place, now, admission);
  const facts = [recordedOutcome(state, order), deferredEvent(state, attemptRef(order))].filter(
    (fact) => fact !== undefined,
  );
  if (facts.length === 0) return nothing;
  return decision({
    send: facts.flatMap((fact) => repeatOutcome(fact, now).send),
    events: prevented(state, order),
  });
};

/** The circuit of its target does not let it begin. That is stated once, until something else comes of it. */
export const defer = (
  state: EffectState,
  { attempt, target, reason }: Extract<EffectMessage, { kind: 'held' }>,
): EffectDecision => {
  if (!isWaiting(state) || state.entry.deferred !== undefined || state.entry.order.attempt !== attempt)
    return nothing;
  const about = attemptRef(state.entry.order);
  return decision({ events: [{ type: 'held', ...about, target: target.slice(0, TARGET_MAX), reason }] });
};

/** There is a place for what has waited for one. */
export const claim = (state: EffectState, place: Slot, now: number, admission: Admission): EffectDecision => {
  switch (state.status) {
    case 'prepared':
      return admit(state, state.entry.order, place, now, admission);
    case 'in_doubt':
      return repeatOrProbe(state, place, now, admission);
    case 'absent':
    case 'cancelled':
    case 'refused':
    case 'started':
    case 'applied':
    case 'failed_clean':
    case 'not_applied':
      return nothing;
  }
};
