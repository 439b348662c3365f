import type { InDoubtCause } from '@holdpoint/contracts/effect/in-doubt-cause';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { EffectClass } from '@holdpoint/contracts/workflow/workflow';
import { decision } from '@holdpoint/runtime/decider';
import { isWork } from './admission.ts';
import type { Admission, EffectDecision, EffectWork, Finding, InDoubt, Slot, Started } from './messages.ts';
import { nothing, start } from './start.ts';
import { type AttemptRef, attemptRef, type EffectState, type Next } from './state.ts';
import type { Moment } from './timing.ts';

/** After this many starts an operator decides. */
const STARTS_MAX = 5;
/** Interrupted work costs only time, and executors may restart often while an agent runs for an hour. */
const WORK_STARTS_MAX = 20;
/** An order that loses its worker this often may be the cause: another repeat could take down the next executor. */
const LOST_MAX = 3;
/** After this many inconclusive probes an operator decides. */
const PROBES_MAX = 5;
const REASON_CHARACTERS_MAX = 2_000;

/** A keyed target ignores a repeat, a fenced one no longer has the expected state, and an idempotent one ends the same. */
const REPEATABLE: ReadonlySet<EffectClass> = new Set<EffectClass>(['keyed', 'fenced', 'idempotent']);

/**
 * How an effect in doubt proceeds. It is repeated only if the target makes that harmless, it was not cancelled, and it has starts
 * left. A target that can tell is probed.
 */
export const nextAfter = (
  {
    order,
    starts,
    cancelRequested,
    lost = 0,
  }: Pick<Started['entry'], 'order' | 'starts' | 'cancelRequested' | 'lost'>,
  cause: InDoubtCause,
): Next => {
  const { effectClass } = order.effect;
  if (effectClass === 'probeable') return 'probe';
  if (cause === 'worker_lost' && lost + 1 >= LOST_MAX) return 'person';
  const most = isWork(order) ? WORK_STARTS_MAX : STARTS_MAX;
  return !cancelRequested && REPEATABLE.has(effectClass) && starts < most ? 'repeat' : 'person';
};

/** Work leaves nothing to look for: a cancellation ends it. */
export const cancelWork = (ref: AttemptRef, reason: string): EffectDecision =>
  decision({
    events: [{ type: 'cancelled', ...ref, reason }],
    timers: [{ clear: 'lease' }, { clear: 'slot' }],
  });

export const isCancelledWork = ({ order, cancelRequested }: Started['entry']): boolean =>
  cancelRequested && isWork(order);

/** A start ended without a known outcome. */
export const startUnresolved = (
  state: Started,
  reason: string,
  cause: InDoubtCause,
  at: Moment,
): EffectDecision =>
  isCancelledWork(state.entry)
    ? cancelWork(attemptRef(state.entry.order), reason)
    : markInDoubt(state, reason, nextAfter(state.entry, cause), at, cause);

export const markInDoubt = (
  state: Started | InDoubt,
  reason: string,
  next: Next,
  at: Moment,
  cause: InDoubtCause | undefined = state.status === 'in_doubt' ? state.cause : undefined,
): EffectDecision => {
  const { order, epoch } = state.entry;
  return markOrderInDoubt(order, epoch + 1, { reason, next, cause }, at);
};

type Doubt = { readonly reason: string; readonly next: Next; readonly cause: InDoubtCause | undefined };

const readable = (reason: string): string => reason.slice(0, REASON_CHARACTERS_MAX).toWellFormed();

export const markOrderInDoubt = (
  order: RunEffect,
  epoch: number,
  { reason, next, cause }: Doubt,
  at: Moment,
): EffectDecision => {
  const follow =
    next === 'person' ? { clear: 'slot' } : { set: 'slot', dueAt: at.now + repeatDelayMs(epoch, at) };
  return decision<EffectEvent, EffectWork>({
    events: [{ type: 'in_doubt', ...attemptRef(order), epoch, reason: readable(reason), next, cause }],
    timers: [{ clear: 'lease' }, follow],
  });
};

/** Exponential: immediate repeats would all meet the same failure of the target. */
const repeatDelayMs = (epoch: number, { timing }: Moment): number =>
  // A start and the doubt after it each raise the epoch by one.
  Math.min(timing.firstRepeatMs * 2 ** (Math.ceil(epoch / 2) - 1), timing.lastRepeatMs);

/** An effect in doubt has a slot: it is repeated or probed, unless an operator has to decide. */
export const repeatOrProbe = (
  state: InDoubt,
  slot: Slot,
  at: Moment,
  admission: Admission,
): EffectDecision => {
  switch (state.next) {
    case 'person':
      return nothing;
    case 'probe':
      return probe(state, slot, at);
    case 'repeat': {
      const { order, repeatUntil } = state.entry;
      // An expired grant ends repeats as well. An operator's answer replaces the grant, and expires like one.
      const mayBegin =
        repeatUntil === undefined ? admission(order, at.now) === undefined : at.now < repeatUntil;
      return mayBegin ? start(state, order, slot, at) : markInDoubt(state, state.reason, 'person', at);
    }
  }
};

/** A probe changes nothing, so that two may run at once: it has no start and no lease. A claimant's probe is recorded. */
const probe = (
  { entry: { order, epoch, unended = [] } }: InDoubt,
  { slot, remote }: Slot,
  { now, timing }: Moment,
): EffectDecision =>
  decision<EffectEvent, EffectWork>({
    events:
      remote === undefined
        ? []
        : [
            {
              type: 'claimed',
              ...attemptRef(order),
              epoch,
              to: 'probe',
              remote: { ...remote.holder, since: now },
            },
          ],
    timers: [{ set: 'slot', dueAt: now + (remote?.holder.leaseMs ?? timing.reprobeMs) }],
    work: [{ kind: 'probe', order, epoch, slot, unended, ...(remote && { remote: true as const }) }],
  });

/** The result of a probe. It counts only for the epoch that was probed. */
export const probed = (state: EffectState, epoch: number, finding: Finding, at: Moment): EffectDecision => {
  if (state.status !== 'in_doubt' || state.next !== 'probe' || state.entry.epoch !== epoch) return nothing;
  const ref = attemptRef(state.entry.order);
  const { found, outputs = {} } = finding;
  const reason = readable(finding.reason);
  const result: EffectEvent = { type: 'probed', ...ref, epoch, found, reason };
  const timers = [{ clear: 'slot' }] as const;
  switch (found) {
    case 'applied':
      return decision({ events: [result, { type: 'applied', ...ref, epoch, outputs }], timers });
    case 'not_applied':
      return decision({
        events: [result, { type: 'not_applied', ...ref, epoch, reason, by: 'probe' }],
        timers,
      });
    case 'unproven':
    case 'unknown': {
      const { probes = 0 } = state.entry;
      const next = found === 'unproven' && probes + 1 < PROBES_MAX ? 'probe' : 'person';
      const inDoubt = markInDoubt(state, `${state.reason}; probe: ${reason}`, next, at);
      return { ...inDoubt, events: [result, ...inDoubt.events] };
    }
  }
};
