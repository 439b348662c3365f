import { eventType } from '@holdpoint/contracts/cloudevents';
import {
  type CancelEffect,
  effectDigest,
  type EffectEvent,
  type RunEffect,
} from '@holdpoint/contracts/effect';
import { type ErrorBody, errorBody } from '@holdpoint/contracts/errors';
import type { EffectId } from '@holdpoint/contracts/ids';
import { digestOf, type Json, type JsonObject } from '@holdpoint/contracts/json';
import { subjects } from '@holdpoint/contracts/subjects';
import type { EffectClass } from '@holdpoint/contracts/workflow';
import { type Decider, type Decision, decision } from '@holdpoint/runtime/decider';
import { type ClassOf, isWork, type VerifyGrant, whyRefused } from './admission.ts';
import { type About, aboutOrder, type EffectState, entryIn, evolve } from './ledger.ts';

/** What carrying out an effect came to. `unknown` covers everything that does not prove the one or the other. */
export type Outcome =
  | { readonly kind: 'applied'; readonly outputs: JsonObject }
  | { readonly kind: 'failed_clean'; readonly error: ErrorBody }
  | { readonly kind: 'unknown'; readonly reason: string };

/** A free place in the executor that took the message, and who it is. Without a place the order waits. */
export type Place = { readonly worker: string; readonly slot: number };

export type EffectMessage =
  | { readonly kind: 'run'; readonly payload: RunEffect; readonly place: Place | undefined }
  | { readonly kind: 'cancel'; readonly payload: CancelEffect }
  | { readonly kind: 'claim'; readonly id: EffectId; readonly place: Place }
  | { readonly kind: 'heartbeat'; readonly epoch: number }
  | { readonly kind: 'outcome'; readonly epoch: number; readonly outcome: Outcome }
  /** The ledger was set back; somebody's journal says that this was started, under this epoch. */
  | { readonly kind: 'journalled'; readonly order: RunEffect; readonly epoch: number }
  | { readonly kind: 'timer'; readonly name: string; readonly data: Json };

/** What the executor does once the decision is committed. */
export type EffectWork =
  | { readonly kind: 'start'; readonly order: RunEffect; readonly epoch: number; readonly slot: number }
  | { readonly kind: 'await_place'; readonly id: EffectId; readonly uses: string }
  /** Ends one start of it; another may be under way. */
  | { readonly kind: 'abort'; readonly id: EffectId; readonly epoch: number };

type Made = Decision<EffectEvent, EffectWork>;
/** Why an order may not run at a moment, if so. */
type Admission = (order: RunEffect, now: number) => ErrorBody | undefined;
type Started = Extract<EffectState, { status: 'started' }>;

/** A worker that is not heard of for so long may be dead: the effect is then in doubt. */
export const LEASE_MS = 10_000;
/** An order that waits for a place is offered again after this, in case the executor that knew of it has gone. */
const REOFFER_MS = 5_000;
/** Repeating has to end somewhere; after this many starts a person looks. */
const STARTS_MAX = 5;
/** What interrupts work costs time only, and executors may come and go while an agent runs for an hour. */
const WORK_STARTS_MAX = 20;
const FIRST_REPEAT_MS = 1_000;
const LAST_REPEAT_MS = 8_000;

const nothing: Made = decision({});

const start = (state: EffectState, order: RunEffect, place: Place, now: number): Made => {
  const epoch = (entryIn(state)?.epoch ?? 0) + 1;
  return decision<EffectEvent, EffectWork>({
    events: [{ type: 'started', ...aboutOrder(order), order, epoch, worker: place.worker }],
    timers: [
      { set: 'lease', dueAt: now + LEASE_MS },
      ...(state.status === 'absent' ? [] : [{ clear: 'place' }]),
    ],
    work: [{ kind: 'start', order, epoch, slot: place.slot }],
  });
};

const awaitPlace = ({ id, effect }: RunEffect, now: number): Pick<Made, 'timers' | 'work'> => ({
  timers: [{ set: 'place', dueAt: now + REOFFER_MS }],
  work: [{ kind: 'await_place', id, uses: effect.uses }],
});

/** An order that may begin: at once where there is a place, else it is kept until there is one. */
const admit = (
  state: EffectState,
  order: RunEffect,
  place: Place | undefined,
  now: number,
  admission: Admission,
): Made => {
  const error = admission(order, now);
  if (error !== undefined) {
    return decision<EffectEvent, EffectWork>({
      events: [{ type: 'refused', ...aboutOrder(order), order, error }],
      timers: state.status === 'absent' ? [] : [{ clear: 'place' }],
    });
  }
  if (place !== undefined) return start(state, order, place, now);
  return decision<EffectEvent, EffectWork>({
    events: [{ type: 'prepared', ...aboutOrder(order), order }],
    ...awaitPlace(order, now),
  });
};

/** Tells the outcome again to whoever orders or cancels again; nothing is done twice. */
const repeatOutcome = (fact: EffectEvent, now: number): Made =>
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

type Final = Extract<EffectState, { status: 'applied' | 'in_doubt' | 'cancelled' }>;

/** What no order changes any more, as the fact that says so. */
const finalFact = (state: Final, about: About): EffectEvent => {
  switch (state.status) {
    case 'applied':
      return { type: 'applied', ...about, epoch: state.entry.epoch, outputs: state.outputs };
    case 'in_doubt':
      return { type: 'in_doubt', ...about, epoch: state.entry.epoch, reason: state.reason, next: state.next };
    case 'cancelled':
      return { type: 'cancelled', ...about, reason: state.reason };
  }
};

const recorded = (state: EffectState, order: RunEffect): EffectEvent | undefined => {
  const about = aboutOrder(order);
  switch (state.status) {
    case 'applied':
    case 'in_doubt':
    case 'cancelled':
      return finalFact(state, about);
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

/** A forgery that was refused must not stand in the way of what it imitates, so effects are compared by what they say. */
const sameOrder = (one: RunEffect, other: RunEffect): boolean =>
  one.grant === other.grant &&
  one.digest === other.digest &&
  effectDigest(one.effect) === effectDigest(other.effect);

/** It was cancelled while it ran, and failed: whoever orders it anew has not heard of that. */
const neverMind = (order: RunEffect): Made =>
  decision({
    events: [
      { type: 'cancelled', ...aboutOrder(order), reason: 'it was cancelled while an earlier attempt ran' },
    ],
  });

const run = (
  state: EffectState,
  order: RunEffect,
  place: Place | undefined,
  now: number,
  admission: Admission,
): Made => {
  const entry = entryIn(state);
  if (entry !== undefined && entry.order.digest !== order.digest && state.status !== 'refused') {
    const error = errorBody('ERR_IDEMPOTENCY_CONFLICT', 'another effect was ordered under this key before');
    return repeatOutcome({ type: 'refused', ...aboutOrder(order), order, error }, now);
  }
  // Nothing has happened under this order, and it is a new one: a later attempt, or a new grant after a refusal.
  const clean = state.status === 'absent' || state.status === 'failed_clean' || state.status === 'refused';
  const newer = entry === undefined || order.attempt > entry.order.attempt || !sameOrder(order, entry.order);
  if (clean && newer) return entry?.calledOff ? neverMind(order) : admit(state, order, place, now, admission);
  const fact = recorded(state, order);
  return fact === undefined ? nothing : repeatOutcome(fact, now);
};

const claim = (state: EffectState, place: Place, now: number, admission: Admission): Made => {
  if (state.status === 'prepared') return admit(state, state.entry.order, place, now, admission);
  if (state.status !== 'in_doubt' || state.next !== 'repeat') return nothing;
  // The grant ends the using as well: after it not even a repeat is made without a person.
  return admission(state.entry.order, now) === undefined
    ? start(state, state.entry.order, place, now)
    : doubt(state, state.reason, 'person', now);
};

/** What takes a second start for the first: a key, a state to go on from that is gone once it was left, or nothing that adds up. */
const REPEATABLE: ReadonlySet<EffectClass> = new Set<EffectClass>(['keyed', 'fenced', 'idempotent']);

/** Only what its target makes harmless to repeat is repeated, unless it was called off, and not for ever. */
const nextAfter = ({
  order,
  starts,
  calledOff,
}: Pick<Started['entry'], 'order' | 'starts' | 'calledOff'>): 'repeat' | 'person' =>
  !calledOff &&
  REPEATABLE.has(order.effect.effectClass) &&
  starts < (isWork(order) ? WORK_STARTS_MAX : STARTS_MAX)
    ? 'repeat'
    : 'person';

/** Work leaves nothing behind that somebody would have to look for: once it was called off, it is over. */
const callOff = (about: About, reason: string): Made =>
  decision({
    events: [{ type: 'cancelled', ...about, reason }],
    timers: [{ clear: 'lease' }, { clear: 'place' }],
  });

const isCalledOffWork = ({ order, calledOff }: Started['entry']): boolean => calledOff && isWork(order);

/** It began, and what came of it is not known. */
const unresolved = (state: Started, reason: string, now: number): Made =>
  isCalledOffWork(state.entry)
    ? callOff(aboutOrder(state.entry.order), reason)
    : doubt(state, reason, nextAfter(state.entry), now);

const doubt = (
  state: Extract<EffectState, { status: 'started' | 'in_doubt' }>,
  reason: string,
  next: 'repeat' | 'person',
  now: number,
): Made => {
  const { order, epoch } = state.entry;
  return doubtOf(order, epoch + 1, reason, next, now);
};

const doubtOf = (
  order: RunEffect,
  epoch: number,
  reason: string,
  next: 'repeat' | 'person',
  now: number,
): Made => {
  const follow = next === 'repeat' ? { set: 'place', dueAt: now + repeatDelayMs(epoch) } : { clear: 'place' };
  return decision<EffectEvent, EffectWork>({
    events: [{ type: 'in_doubt', ...aboutOrder(order), epoch, reason, next }],
    timers: [{ clear: 'lease' }, follow],
  });
};

/** A target that has just failed is given ever more time: repeats that follow at once would all meet the same failure. */
const repeatDelayMs = (epoch: number): number =>
  // Each start and each doubt raises the epoch by one.
  Math.min(FIRST_REPEAT_MS * 2 ** (Math.ceil(epoch / 2) - 1), LAST_REPEAT_MS);

const outcome = (state: EffectState, epoch: number, result: Outcome, now: number): Made => {
  const entry = entryIn(state);
  if (entry === undefined) return nothing;
  const about = aboutOrder(entry.order);
  if (state.status === 'started' && entry.epoch === epoch) {
    const timers = [{ clear: 'lease' }] as const;
    switch (result.kind) {
      case 'applied':
        return decision({ events: [{ type: 'applied', ...about, epoch, outputs: result.outputs }], timers });
      case 'failed_clean':
        if (isCalledOffWork(entry)) return callOff(about, result.error.message);
        return entry.unsure && !isWork(entry.order)
          ? stillInDoubt(state, result.error.message, now)
          : decision({ events: [{ type: 'failed_clean', ...about, epoch, error: result.error }], timers });
      case 'unknown':
        return unresolved(state, result.reason, now);
    }
  }
  if (entry.epoch <= epoch || entry.evidence.includes(epoch) || result.kind === 'unknown') return nothing;
  const seen: EffectEvent = { type: 'superseded', ...about, epoch, observed: result.kind };
  // Late, but certain: that it did happen resolves a doubt. Nothing else that comes late changes anything.
  if (state.status === 'in_doubt' && result.kind === 'applied') {
    const timers = [{ clear: 'place' }] as const;
    return decision({
      events: [seen, { type: 'applied', ...about, epoch: entry.epoch, outputs: result.outputs }],
      timers,
    });
  }
  return decision({ events: [seen] });
};

/** A repeat that certainly did nothing says nothing of the starts before it: what they did is as unknown as before. */
const stillInDoubt = (state: Started, problem: string, now: number): Made => {
  const { order, epoch } = state.entry;
  const made = doubt(state, `repeated without effect: ${problem}`, nextAfter(state.entry), now);
  const seen: EffectEvent = { type: 'superseded', ...aboutOrder(order), epoch, observed: 'failed_clean' };
  return { ...made, events: [...made.events, seen] };
};

/**
 * The ledger does not know of a start that a journal has: it was set back behind it. Whatever it says of the effect is as it
 * was before, so that nobody knows any more, and the epoch of that start is over. What it knows is left as it is.
 */
const journalled = (state: EffectState, order: RunEffect, epoch: number, now: number): Made => {
  const entry = entryIn(state);
  if (entry !== undefined && (entry.epoch >= epoch || entry.evidence.includes(epoch))) return nothing;
  if (state.status === 'applied') {
    const about = aboutOrder(state.entry.order);
    return decision({ events: [{ type: 'superseded', ...about, epoch, observed: 'journalled' }] });
  }
  const open = state.status === 'prepared' || state.status === 'started' || state.status === 'in_doubt';
  const same = open && state.entry.order.digest === order.digest;
  const calledOff = state.status === 'cancelled' || entry?.calledOff === true;
  if (calledOff && isWork(order)) {
    return state.status === 'cancelled'
      ? nothing
      : callOff(aboutOrder(order), 'it was cancelled before the database was set back');
  }
  const next = nextAfter({ order, starts: entry?.starts ?? 0, calledOff });
  const reason = 'it was started before the database was set back, and what came of it is lost';
  const made = doubtOf(same ? state.entry.order : order, epoch + 1, reason, next, now);
  return same
    ? made
    : { ...made, events: [{ type: 'prepared', ...aboutOrder(order), order }, ...made.events] };
};

const cancel = (state: EffectState, { id, task, node, attempt, reason }: CancelEffect, now: number): Made => {
  switch (state.status) {
    case 'absent':
    case 'prepared':
    case 'refused':
    case 'failed_clean':
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
      if (isWork(state.entry.order)) return callOff({ id, task, node, attempt }, reason);
      return state.next === 'repeat'
        ? doubt(state, `cancelled in doubt: ${state.reason}`, 'person', now)
        : repeatOutcome(finalFact(state, { id, task, node, attempt }), now);
    case 'applied':
    case 'cancelled':
      return repeatOutcome(finalFact(state, { id, task, node, attempt }), now);
  }
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
    return unresolved(state, `worker ${state.worker} was not heard of for ${String(LEASE_MS)} ms`, now);
  }
  const waits = state.status === 'prepared' || (state.status === 'in_doubt' && state.next === 'repeat');
  return name === 'place' && waits ? decision(awaitPlace(state.entry.order, now)) : nothing;
};

/** One effect: intent before act, one start in force at a time, and honest when nobody can know. */
export const createEffectDecider = (
  verify: VerifyGrant,
  classOf?: ClassOf,
): Decider<EffectState, EffectMessage, EffectEvent, EffectWork> => {
  const admission: Admission = (order, now) => whyRefused(order, now, verify, classOf);
  return {
    initial: { status: 'absent' },
    evolve,
    decide: (state, message, { now }) => {
      switch (message.kind) {
        case 'run':
          return run(state, message.payload, message.place, now, admission);
        case 'cancel':
          return cancel(state, message.payload, now);
        case 'claim':
          return claim(state, message.place, now, admission);
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
