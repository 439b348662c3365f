import type { DoubtCause } from '@holdpoint/contracts/effect/in-doubt-cause';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { EffectClass } from '@holdpoint/contracts/workflow/workflow';
import { decision } from '@holdpoint/runtime/decider';
import { isWork } from './admission.ts';
import type { Admission, EffectWork, Finding, InDoubt, EffectDecision, Slot, Started } from './messages.ts';
import { type AttemptRef, attemptRef, type EffectState, type Next } from './state.ts';
import { nothing, start } from './start.ts';

/** Repeating has to end somewhere; after this many starts a person looks. */
const STARTS_MAX = 5;
/** What interrupts work costs time only, and executors may come and go while an agent runs for an hour. */
const WORK_STARTS_MAX = 20;
/** Whatever loses its worker so often may be what ends it: to go on would take one executor after the other along. */
const LOST_MAX = 3;
/** Asking has to end as well: after so many answers that prove nothing a person is asked. */
const PROBES_MAX = 5;
/** A target that is being asked is asked again after this, in case whoever asks has gone. */
const REPROBE_MS = 120_000;
const FIRST_REPEAT_MS = 1_000;
const LAST_REPEAT_MS = 8_000;
/** Enough for people to go by, however often a doubt was looked into. */
const REASON_MAX = 2_000;

/** What takes a second start for the first: a key, a state to go on from that is gone once it was left, or nothing that adds up. */
const REPEATABLE: ReadonlySet<EffectClass> = new Set<EffectClass>(['keyed', 'fenced', 'idempotent']);

/**
 * Only what its target makes harmless to repeat is repeated, unless it was called off, and not for ever. A target that can
 * tell is asked: that does no harm either.
 */
export const nextAfter = (
  { order, starts, cancelRequested: calledOff, lost = 0 }: Pick<Started['entry'], 'order' | 'starts' | 'cancelRequested' | 'lost'>,
  cause: DoubtCause,
): Next => {
  const { effectClass } = order.effect;
  if (effectClass === 'probeable') return 'probe';
  if (cause === 'worker_lost' && lost + 1 >= LOST_MAX) return 'person';
  const most = isWork(order) ? WORK_STARTS_MAX : STARTS_MAX;
  return !calledOff && REPEATABLE.has(effectClass) && starts < most ? 'repeat' : 'person';
};

/** Work leaves nothing behind that somebody would have to look for: once it was called off, it is over. */
export const cancelWork = (about: AttemptRef, reason: string): EffectDecision =>
  decision({
    events: [{ type: 'cancelled', ...about, reason }],
    timers: [{ clear: 'lease' }, { clear: 'place' }],
  });

export const isCancelledWork = ({ order, cancelRequested: calledOff }: Started['entry']): boolean =>
  calledOff && isWork(order);

/** It began, and what came of it is not known. */
export const startUnresolved = (state: Started, reason: string, cause: DoubtCause, now: number): EffectDecision =>
  isCancelledWork(state.entry)
    ? cancelWork(attemptRef(state.entry.order), reason)
    : markInDoubt(state, reason, nextAfter(state.entry, cause), now, cause);

export const markInDoubt = (
  state: Started | InDoubt,
  reason: string,
  next: Next,
  now: number,
  cause: DoubtCause | undefined = state.status === 'in_doubt' ? state.cause : undefined,
): EffectDecision => {
  const { order, epoch } = state.entry;
  return markOrderInDoubt(order, epoch + 1, { reason, next, cause }, now);
};

type Doubt = { readonly reason: string; readonly next: Next; readonly cause: DoubtCause | undefined };

const readable = (reason: string): string => reason.slice(0, REASON_MAX).toWellFormed();

export const markOrderInDoubt = (
  order: RunEffect,
  epoch: number,
  { reason, next, cause }: Doubt,
  now: number,
): EffectDecision => {
  const follow = next === 'person' ? { clear: 'place' } : { set: 'place', dueAt: now + repeatDelayMs(epoch) };
  return decision<EffectEvent, EffectWork>({
    events: [{ type: 'in_doubt', ...attemptRef(order), epoch, reason: readable(reason), next, cause }],
    timers: [{ clear: 'lease' }, follow],
  });
};

/** A target that has just failed is given ever more time: repeats that follow at once would all meet the same failure. */
const repeatDelayMs = (epoch: number): number =>
  // Each start and each doubt raises the epoch by one.
  Math.min(FIRST_REPEAT_MS * 2 ** (Math.ceil(epoch / 2) - 1), LAST_REPEAT_MS);

/** A doubt that waits for nobody but us, and has a place. */
export const repeatOrProbe = (state: InDoubt, place: Slot, now: number, admission: Admission): EffectDecision => {
  switch (state.next) {
    case 'person':
      return nothing;
    case 'probe':
      return probe(state, place, now);
    case 'repeat': {
      const { order, repeatUntil } = state.entry;
      // The grant ends the using as well: after it not even a repeat is made without a person, whose word ends like a grant.
      const mayBegin = repeatUntil === undefined ? admission(order, now) === undefined : now < repeatUntil;
      return mayBegin ? start(state, order, place, now) : markInDoubt(state, state.reason, 'person', now);
    }
  }
};

/** Looking changes nothing, so that two may look at the same time: no start, no lease. */
const probe = ({ entry: { order, epoch, unended = [] } }: InDoubt, { id: slot }: Slot, now: number): EffectDecision =>
  decision<EffectEvent, EffectWork>({
    timers: [{ set: 'place', dueAt: now + REPROBE_MS }],
    work: [{ kind: 'probe', order, epoch, slot, unended }],
  });

/** What the target says of a doubt. It is the doubt that it was asked about which counts, and no later one. */
export const probed = (state: EffectState, epoch: number, finding: Finding, now: number): EffectDecision => {
  if (state.status !== 'in_doubt' || state.next !== 'probe' || state.entry.epoch !== epoch) return nothing;
  const about = attemptRef(state.entry.order);
  const { found, outputs = {} } = finding;
  const reason = readable(finding.reason);
  const seen: EffectEvent = { type: 'probed', ...about, epoch, found, reason };
  const timers = [{ clear: 'place' }] as const;
  switch (found) {
    case 'applied':
      return decision({ events: [seen, { type: 'applied', ...about, epoch, outputs }], timers });
    case 'not_applied':
      return decision({
        events: [seen, { type: 'not_applied', ...about, epoch, reason, by: 'probe' }],
        timers,
      });
    case 'unproven':
    case 'unknown': {
      const { probes = 0 } = state.entry;
      const next = found === 'unproven' && probes + 1 < PROBES_MAX ? 'probe' : 'person';
      const made = markInDoubt(state, `${state.reason}; asked what became of it: ${reason}`, next, now);
      return { ...made, events: [seen, ...made.events] };
    }
  }
};
