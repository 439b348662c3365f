import type { CancelEffect } from '@holdpoint/contracts/effect/commands';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { type Decider, decision } from '@holdpoint/runtime/decider';
import { type ClassOf, isWork, type KindOf, type Verify, whyRefused } from './admission.ts';
import { resolve } from './resolve.ts';
import { cancelWork, markInDoubt, probed, startUnresolved } from './in-doubt.ts';
import type { Admission, EffectMessage, EffectWork, InDoubt, EffectDecision } from './messages.ts';
import { evolve } from './evolve.ts';
import { type EffectState, entryIn, isWaiting } from './state.ts';
import { claim, defer, run } from './order.ts';
import { finalEvent, repeatOutcome } from './recorded-outcome.ts';
import { journalled, outcome } from './outcome.ts';
import { awaitSlot, LEASE_MS, nothing } from './start.ts';

const cancel = (state: EffectState, message: CancelEffect, now: number): EffectDecision => {
  const { id, task, node, attempt, reason } = message;
  switch (state.status) {
    case 'absent':
    case 'prepared':
    case 'refused':
    case 'failed_clean':
    case 'not_applied':
      return decision({
        events: [{ type: 'cancelled', id, task, node, attempt, reason }],
        timers: [{ clear: 'place' }],
      });
    case 'started':
      return decision({
        events: state.entry.cancelRequested ? [] : [{ type: 'cancel_requested', id, task, node, attempt, reason }],
        work: [{ kind: 'abort', id, epoch: state.entry.epoch }],
      });
    case 'in_doubt':
      return cancelInDoubt(state, message, now);
    case 'applied':
    case 'cancelled':
      return repeatOutcome(finalEvent(state, { id, task, node, attempt }), now);
  }
};

/** What became of it may be found out all the same; nothing more is done, unless a person says so after this. */
const cancelInDoubt = (
  state: InDoubt,
  { id, task, node, attempt, reason }: CancelEffect,
  now: number,
): EffectDecision => {
  const about = { id, task, node, attempt };
  if (isWork(state.entry.order)) return cancelWork(about, reason);
  const told = repeatOutcome(finalEvent(state, about), now);
  if (state.entry.cancelRequested) return told;
  const asked: EffectEvent = { type: 'cancel_requested', ...about, reason };
  if (state.next === 'probe') return { ...told, events: [asked] };
  // A doubt of its own: what was said of the one before it was said by somebody who had not heard of this.
  const made = markInDoubt(state, `cancelled in doubt: ${state.reason}`, 'person', now);
  return { ...made, events: [asked, ...made.events] };
};

/**
 * A start is under way. One that was called off is told so again, because whoever decided that may have been another process;
 * so is work of which the lease was over, because it is, or will be, under way elsewhere.
 */
const heartbeat = (state: EffectState, epoch: number, now: number): EffectDecision => {
  const entry = entryIn(state);
  if (entry === undefined || epoch > entry.epoch) return nothing;
  const abort: EffectWork = { kind: 'abort', id: entry.order.id, epoch };
  const inForce = state.status === 'started' && entry.epoch === epoch;
  if (!inForce) return isWork(entry.order) ? decision({ work: [abort] }) : nothing;
  return decision({
    timers: [{ set: 'lease', dueAt: now + LEASE_MS }],
    work: entry.cancelRequested ? [abort] : [],
  });
};

const timerFired = (state: EffectState, name: string, now: number): EffectDecision => {
  if (name === 'lease' && state.status === 'started') {
    const reason = `worker ${state.worker} was not heard of for ${String(LEASE_MS)} ms`;
    return startUnresolved(state, reason, 'worker_lost', now);
  }
  if (name !== 'place' || !isWaiting(state)) return nothing;
  return decision(awaitSlot(state.entry.order, now, state.entry.deferred !== undefined));
};

/** One effect: intent before act, one start in force at a time, and honest when nobody can know. */
export const createEffectDecider = (
  verify: Verify,
  classOf?: ClassOf,
  kindOf?: KindOf,
): Decider<EffectState, EffectMessage, EffectEvent, EffectWork> => {
  const admission: Admission = (order, now) => whyRefused(order, now, verify, classOf, kindOf);
  return {
    initial: { status: 'absent' },
    evolve,
    decide: (state, message, { now }) => {
      switch (message.kind) {
        case 'run':
          return run(state, message.payload, message.place, now, admission);
        case 'cancel':
          return cancel(state, message.payload, now);
        case 'resolve':
          return resolve(state, message.payload, now, verify);
        case 'probed':
          return probed(state, message.epoch, message.finding, now);
        case 'claim':
          return claim(state, message.place, now, admission);
        case 'held':
          return defer(state, message);
        case 'heartbeat':
          return heartbeat(state, message.epoch, now);
        case 'outcome':
          return outcome(state, message.epoch, message.outcome, now);
        case 'journalled':
          return journalled(state, message.order, message.epoch, now);
        case 'timer':
          return timerFired(state, message.name, now);
      }
    },
  };
};

export { LEASE_MS } from './start.ts';
export type { EffectMessage, EffectWork, Finding, Outcome, Slot } from './messages.ts';
