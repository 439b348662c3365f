import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { isRemote } from '@holdpoint/contracts/effect/remote-name';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { decision } from '@holdpoint/runtime/decider';
import { repeatOrProbe } from './in-doubt.ts';
import type { Admission, EffectDecision, EffectMessage, EffectWork, Slot } from './messages.ts';
import { deferredEvent, prevented, recordedOutcome, repeatOutcome } from './recorded-outcome.ts';
import { giveAgain } from './remote.ts';
import { nothing, offer, start } from './start.ts';
import { attemptRef, type EffectState, type Entry, entryIn, isWaiting } from './state.ts';
import type { Moment } from './timing.ts';

/** A custom capability may return a target name of any length. */
const TARGET_CHARACTERS_MAX = 512;

/** Starts an acceptable order at once if it has a slot; without one the order waits. */
const admit = (
  state: EffectState,
  order: RunEffect,
  slot: Slot | undefined,
  at: Moment,
  admission: Admission,
): EffectDecision => {
  const error = admission(order, at.now);
  if (error !== undefined) {
    return decision<EffectEvent, EffectWork>({
      events: [{ type: 'refused', ...attemptRef(order), order, error }],
      timers: state.status === 'absent' ? [] : [{ clear: 'slot' }],
    });
  }
  if (slot !== undefined) return start(state, order, slot, at);
  return decision<EffectEvent, EffectWork>({
    events: [{ type: 'prepared', ...attemptRef(order), order }],
    ...offer(state, order, at),
  });
};

/** Compares the effects themselves: a refused forgery with a copied digest must not block the order that it imitates. */
const isSameOrder = (one: RunEffect, other: RunEffect): boolean =>
  one.grant === other.grant &&
  one.digest === other.digest &&
  effectDigest(one.effect) === effectDigest(other.effect);

/** The effect was cancelled while it ran, and nothing happened. The requester of a new attempt does not know that yet. */
const cancelledEarlier = (order: RunEffect): EffectDecision =>
  decision({
    events: [{ type: 'cancelled', ...attemptRef(order), reason: 'cancelled while an earlier attempt ran' }],
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
  slot: Slot | undefined,
  at: Moment,
  admission: Admission,
): EffectDecision => {
  const entry = entryIn(state);
  if (entry !== undefined && entry.order.digest !== order.digest && state.status !== 'refused') {
    const error = errorBody('ERR_IDEMPOTENCY_CONFLICT', 'Another effect was ordered under this key before');
    return repeatOutcome({ type: 'refused', ...attemptRef(order), order, error }, at.now);
  }
  // New is a later attempt, or a new grant after a refusal.
  const clean = CLEAN.has(state.status);
  const newer =
    entry === undefined || order.attempt > entry.order.attempt || !isSameOrder(order, entry.order);
  if (clean && newer)
    return entry?.cancelRequested ? cancelledEarlier(order) : admit(state, order, slot, at, admission);
  const events = [recordedOutcome(state, order), deferredEvent(state, attemptRef(order))].filter(
    (event) => event !== undefined,
  );
  if (events.length === 0) return nothing;
  return decision({
    send: events.flatMap((event) => repeatOutcome(event, at.now).send),
    events: prevented(state, order),
  });
};

/** The circuit of the target defers the effect. It is stated once for each wait. */
export const defer = (
  state: EffectState,
  { attempt, target, reason }: Extract<EffectMessage, { kind: 'deferred' }>,
): EffectDecision => {
  if (!isWaiting(state) || state.entry.deferred !== undefined || state.entry.order.attempt !== attempt)
    return nothing;
  const ref = attemptRef(state.entry.order);
  return decision({
    events: [{ type: 'deferred', ...ref, target: target.slice(0, TARGET_CHARACTERS_MAX), reason }],
  });
};

/** Whether a slot is of the kind that the order waits for: an executor never runs a remote order. */
const fits = (state: EffectState, { order }: Entry, { remote }: Slot): boolean => {
  if (!isRemote(order.effect.uses)) return remote === undefined;
  return remote?.to === (state.status === 'in_doubt' && state.next === 'probe' ? 'probe' : 'run');
};

/** A waiting effect has a slot. */
export const claim = (state: EffectState, slot: Slot, at: Moment, admission: Admission): EffectDecision => {
  // It waits for something else by now.
  if (isWaiting(state) && !fits(state, state.entry, slot))
    return decision(offer(state, state.entry.order, at));
  switch (state.status) {
    case 'prepared':
      return admit(state, state.entry.order, slot, at, admission);
    case 'in_doubt':
      return repeatOrProbe(state, slot, at, admission);
    case 'started':
      return slot.remote === undefined ? nothing : giveAgain(state, slot.remote, slot, at);
    case 'absent':
    case 'cancelled':
    case 'refused':
    case 'applied':
    case 'failed_clean':
    case 'not_applied':
      return nothing;
  }
};
