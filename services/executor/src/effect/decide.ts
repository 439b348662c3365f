import type { CancelEffect, EffectEvent } from '@holdpoint/contracts/effect/effect';
import { type Decider, decision } from '@holdpoint/runtime/decider';
import { type ClassOf, isWork, type KindOf, type Verify, whyRefused } from './admission.ts';
import { resolve } from './resolve.ts';
import { callOff, doubt, probed, unresolved } from './in-doubt.ts';
import type { Admission, EffectMessage, EffectWork, InDoubt, Made } from './messages.ts';
import { evolve } from './evolve.ts';
import { type EffectState, entryIn, isWaiting } from './state.ts';
import { claim, hold, run } from './order.ts';
import { finalFact, repeatOutcome } from './recorded-outcome.ts';
import { journalled, outcome } from './outcome.ts';
import { awaitPlace, LEASE_MS, nothing } from './start.ts';

const cancel = (state: EffectState, message: CancelEffect, now: number): Made => {
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
        events: state.entry.calledOff ? [] : [{ type: 'cancel_requested', id, task, node, attempt, reason }],
        work: [{ kind: 'abort', id, epoch: state.entry.epoch }],
      });
    case 'in_doubt':
      return cancelInDoubt(state, message, now);
    case 'applied':
    case 'cancelled':
      return repeatOutcome(finalFact(state, { id, task, node, attempt }), now);
  }
};

/** What became of it may be found out all the same; nothing more is done, unless a person says so after this. */
const cancelInDoubt = (
  state: InDoubt,
  { id, task, node, attempt, reason }: CancelEffect,
  now: number,
): Made => {
  const about = { id, task, node, attempt };
  if (isWork(state.entry.order)) return callOff(about, reason);
  const told = repeatOutcome(finalFact(state, about), now);
  if (state.entry.calledOff) return told;
  const asked: EffectEvent = { type: 'cancel_requested', ...about, reason };
  if (state.next === 'probe') return { ...told, events: [asked] };
  // A doubt of its own: what was said of the one before it was said by somebody who had not heard of this.
  const made = doubt(state, `cancelled in doubt: ${state.reason}`, 'person', now);
  return { ...made, events: [asked, ...made.events] };
};

/**
 * A start is under way. One that was called off is told so again, because whoever decided that may have been another process;
 * so is work of which the lease was over, because it is, or will be, under way elsewhere.
 */
const heartbeat = (state: EffectState, epoch: number, now: number): Made => {
  const entry = entryIn(state);
  if (entry === undefined || epoch > entry.epoch) return nothing;
  const abort: EffectWork = { kind: 'abort', id: entry.order.id, epoch };
  const inForce = state.status === 'started' && entry.epoch === epoch;
  if (!inForce) return isWork(entry.order) ? decision({ work: [abort] }) : nothing;
  return decision({
    timers: [{ set: 'lease', dueAt: now + LEASE_MS }],
    work: entry.calledOff ? [abort] : [],
  });
};

const timerFired = (state: EffectState, name: string, now: number): Made => {
  if (name === 'lease' && state.status === 'started') {
    const reason = `worker ${state.worker} was not heard of for ${String(LEASE_MS)} ms`;
    return unresolved(state, reason, 'worker_lost', now);
  }
  if (name !== 'place' || !isWaiting(state)) return nothing;
  return decision(awaitPlace(state.entry.order, now, state.entry.held !== undefined));
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
          return hold(state, message);
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
export type { EffectMessage, EffectWork, Finding, Outcome, Place } from './messages.ts';
