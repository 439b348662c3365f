import type { CancelEffect } from '@holdpoint/contracts/effect/commands';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { type Decider, decision } from '@holdpoint/runtime/decider';
import { type ClassOf, isWork, type KindOf, type Verify, whyRefused, type WorkRefusal } from './admission.ts';
import { evolve } from './evolve.ts';
import { cancelWork, markInDoubt, nextAfter, probed, startUnresolved } from './in-doubt.ts';
import type { Admission, EffectDecision, EffectMessage, EffectWork, InDoubt } from './messages.ts';
import { claim, defer, run } from './order.ts';
import { journalled, outcome } from './outcome.ts';
import { finalEvent, repeatOutcome } from './recorded-outcome.ts';
import { resolve } from './resolve.ts';
import { beat, end, notGiven } from './remote.ts';
import { nothing, offer } from './start.ts';
import { type EffectState, entryIn, isWaiting, type RemoteHold } from './state.ts';
import { DEFAULT_TIMING, type EffectTiming, type Moment } from './timing.ts';

const cancel = (state: EffectState, message: CancelEffect, at: Moment): EffectDecision => {
  const { id, task, node, attempt, reason } = message;
  switch (state.status) {
    case 'absent':
    case 'prepared':
    case 'refused':
    case 'failed_clean':
    case 'not_applied':
      return decision({
        events: [{ type: 'cancelled', id, task, node, attempt, reason }],
        timers: [{ clear: 'slot' }],
      });
    case 'started':
      return decision({
        events: state.entry.cancelRequested
          ? []
          : [{ type: 'cancel_requested', id, task, node, attempt, reason }],
        work: [{ kind: 'abort', id, epoch: state.entry.epoch }],
      });
    case 'in_doubt':
      return cancelInDoubt(state, message, at);
    case 'applied':
    case 'cancelled':
      return repeatOutcome(finalEvent(state, { id, task, node, attempt }), at.now);
  }
};

/** Its outcome may still be found out. It is not repeated, unless an operator asks for that after this cancellation. */
const cancelInDoubt = (
  state: InDoubt,
  { id, task, node, attempt, reason }: CancelEffect,
  at: Moment,
): EffectDecision => {
  const ref = { id, task, node, attempt };
  if (isWork(state.entry.order)) return cancelWork(ref, reason);
  const repeated = repeatOutcome(finalEvent(state, ref), at.now);
  if (state.entry.cancelRequested) return repeated;
  const requested: EffectEvent = { type: 'cancel_requested', ...ref, reason };
  if (state.next === 'probe') return { ...repeated, events: [requested] };
  // A new epoch invalidates answers from before the cancellation.
  const inDoubt = markInDoubt(state, `cancelled in doubt: ${state.reason}`, 'person', at);
  return { ...inDoubt, events: [requested, ...inDoubt.events] };
};

/**
 * A start is under way. The abort of a cancelled start is repeated here, because another process may have decided it. Work whose
 * lease has expired is aborted as well: it is or will be under way elsewhere.
 */
const heartbeat = (state: EffectState, epoch: number, { now, timing }: Moment): EffectDecision => {
  const entry = entryIn(state);
  if (entry === undefined || epoch > entry.epoch) return nothing;
  const abort: EffectWork = { kind: 'abort', id: entry.order.id, epoch };
  const inForce = state.status === 'started' && entry.epoch === epoch;
  if (!inForce) return isWork(entry.order) ? decision({ work: [abort] }) : nothing;
  return decision({
    timers: [{ set: 'lease', dueAt: now + timing.leaseMs }],
    work: entry.cancelRequested ? [abort] : [],
  });
};

/** A waiting order is offered again after this, while the key of its grant is unknown. */
const KEY_RETRY_MS = 1_000;

const silentText = (claimant: string, { since, leaseMs }: RemoteHold): string => {
  const began = new Date(since)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/u, 'Z');
  return `claimant ${claimant} began at ${began} and sent no beat for ${String(leaseMs / 1_000)} s`;
};

const timerFired = (state: EffectState, name: string, at: Moment): EffectDecision => {
  if (name === 'lease' && state.status === 'started') {
    const reason =
      state.remote === undefined
        ? `worker ${state.worker} sent no heartbeat for ${String(at.timing.leaseMs)} ms`
        : silentText(state.worker, state.remote);
    return startUnresolved(state, reason, 'worker_lost', at);
  }
  if (name !== 'slot' || !isWaiting(state)) return nothing;
  return decision(offer(state, state.entry.order, at));
};

/**
 * A repeat that does no harm need not wait for the end of the lease. A probe waits for it: a request that the ended executor sent
 * may still reach the target.
 */
const abandoned = (state: EffectState, epoch: number, journal: string, at: Moment): EffectDecision => {
  if (state.status !== 'started' || state.remote !== undefined) return nothing;
  const { entry } = state;
  if (entry.epoch !== epoch || entry.journal !== journal) return nothing;
  if (nextAfter(entry, 'worker_lost') !== 'repeat') return nothing;
  return startUnresolved(state, `worker ${state.worker} has ended`, 'worker_lost', at);
};

export type EffectDeciderOptions = {
  readonly verify: Verify;
  /** The classes of all capabilities. Left out: of those that every executor has. */
  readonly classOf?: ClassOf | undefined;
  readonly kindOf?: KindOf | undefined;
  /** Left out: all work is taken. */
  readonly refusesWork?: WorkRefusal | undefined;
  /** Left out: the default durations. */
  readonly timing?: EffectTiming | undefined;
};

/** One effect: intent is stored before the act, one start is in force at a time, and an unknown outcome is stated as unknown. */
export const createEffectDecider = ({
  verify,
  classOf,
  kindOf,
  refusesWork,
  timing = DEFAULT_TIMING,
}: EffectDeciderOptions): Decider<EffectState, EffectMessage, EffectEvent, EffectWork> => {
  const admission: Admission = (order, now) => whyRefused(order, now, verify, classOf, kindOf, refusesWork);
  return {
    initial: { status: 'absent' },
    evolve,
    decide: (state, message, { now }) => {
      const at: Moment = { now, timing };
      switch (message.kind) {
        case 'run':
          return run(state, message.payload, message.slot, at, admission);
        case 'cancel':
          return cancel(state, message.payload, at);
        case 'resolve':
          return resolve(state, message.payload, at, verify);
        case 'probed':
          return probed(state, message.epoch, message.finding, at);
        case 'claim':
          return message.keyPending === true && state.status === 'prepared'
            ? decision({ timers: [{ set: 'slot', dueAt: now + KEY_RETRY_MS }] })
            : claim(state, message.slot, at, admission);
        case 'deferred':
          return defer(state, message);
        case 'heartbeat':
          return heartbeat(state, message.epoch, at);
        case 'outcome':
          return outcome(state, message.epoch, message.outcome, at);
        case 'beat':
          return beat(state, message, at);
        case 'end':
          return end(state, message, at);
        case 'not_given':
          return notGiven(state, message, at);
        case 'journalled':
          return journalled(state, message.order, message.epoch, at);
        case 'abandoned':
          return abandoned(state, message.epoch, message.journal, at);
        case 'timer':
          return timerFired(state, message.name, at);
      }
    },
  };
};

export type { EffectMessage, EffectWork, Finding, Outcome, Slot } from './messages.ts';
