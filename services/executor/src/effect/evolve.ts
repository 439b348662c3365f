import type { EffectAnswered, EffectEvent, EffectInDoubt } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { unknownEvent } from '@holdpoint/runtime/decider';
import { endedBy, endedLate, givenAgain, lostStart, startedBy } from './remote-state.ts';
import { type EffectState, type Entry, entryIn, type Unended } from './state.ts';

const emptyEntry = (order: RunEffect): Entry => ({
  order,
  epoch: 0,
  starts: 0,
  mayHaveHappened: false,
  cancelRequested: false,
  evidence: [],
});

const entryOf = (state: EffectState): Entry => {
  if (state.status === 'absent' || state.entry === undefined)
    throw new Error('event of an effect that was never ordered');
  return state.entry;
};

export const evolve = (state: EffectState, event: EffectEvent): EffectState => {
  switch (event.type) {
    case 'prepared':
      return { status: 'prepared', entry: orderedAs(state, event.order) };
    case 'deferred': {
      const { target, reason } = event;
      return { ...state, entry: { ...entryOf(state), deferred: { target, reason } } } as EffectState;
    }
    case 'undeferred':
      return { ...state, entry: { ...entryOf(state), deferred: undefined } } as EffectState;
    case 'refused':
      return {
        status: 'refused',
        entry: orderedAs(state, event.order),
        error: event.error,
      };
    case 'started': {
      const { epoch, journal, worker, remote } = event;
      const entry = orderedAs(state, event.order);
      const starts = entry.starts + 1;
      // An operator's "retry" allows one start.
      const started = { ...entry, epoch, journal, starts, probes: 0, repeatUntil: undefined };
      return remote === undefined
        ? { status: 'started', entry: started, worker }
        : startedBy(remote, started, worker);
    }
    case 'claimed':
      return givenAgain(state, event);
    case 'applied': {
      const entry = { ...endedBy(state, 'applied'), epoch: event.epoch };
      return { status: 'applied', entry, outputs: event.outputs };
    }
    case 'failed_clean': {
      const { epoch, error } = event;
      return {
        status: 'failed_clean',
        entry: { ...endedBy(state, 'failed_clean'), epoch, settled: epoch },
        error,
      };
    }
    case 'in_doubt': {
      const { epoch, reason, next, cause } = event;
      const unended = unendedAfter(state, event);
      // An operator's answer holds for one doubt only.
      const doubtful = { epoch, mayHaveHappened: true, unended, repeatUntil: undefined, deferred: undefined };
      const before = cause === 'outcome_unknown' ? endedBy(state, 'unknown') : entryOf(state);
      const entry = { ...before, ...doubtful, lost: lostAfter(state, event) };
      return { status: 'in_doubt', entry, reason, next, cause };
    }
    case 'probed': {
      const entry = entryOf(state);
      const probes = (entry.probes ?? 0) + 1;
      const prober = entry.prober && { ...entry.prober, found: event.found };
      return {
        ...state,
        entry: { ...entry, probes, deferred: undefined, ...(prober && { prober }) },
      } as EffectState;
    }
    case 'answered':
      return answered(state, event);
    case 'not_applied': {
      const { epoch, reason, by } = event;
      const before = entryOf(state);
      // An operator knows the past only: a lost start may still be on its way.
      const unended = by === 'probe' ? [] : (before.unended ?? []);
      const entry = { ...before, epoch, mayHaveHappened: false, settled: epoch, unended };
      return { status: 'not_applied', entry, reason, by };
    }
    case 'duplicate_prevented': {
      const entry = entryOf(state);
      return {
        ...state,
        entry: { ...entry, prevented: [...(entry.prevented ?? []), event.attempt] },
      } as EffectState;
    }
    case 'cancelled': {
      const { id, task, node, attempt, reason } = event;
      const entry = entryIn(state);
      return { status: 'cancelled', about: { id, task, node, attempt }, reason, ...(entry && { entry }) };
    }
    case 'cancel_requested':
      return { ...state, entry: { ...entryOf(state), cancelRequested: true } } as EffectState;
    case 'superseded': {
      const entry = entryOf(state);
      const evidence = [...entry.evidence, event.epoch];
      // A start that reports an outcome has ended. A journal entry proves only that it began.
      const unended = (entry.unended ?? []).filter(
        ({ epoch }) => event.observed === 'journalled' || epoch !== event.epoch,
      );
      return { ...state, entry: { ...endedLate(entry, event), evidence, unended } } as EffectState;
    }
    default:
      return unknownEvent(event);
  }
};

/** Another attempt is another order, and counts its lost workers from zero. */
const orderedAs = (state: EffectState, order: RunEffect): Entry => {
  const entry = entryIn(state) ?? emptyEntry(order);
  const lost = entry.order.attempt === order.attempt ? (entry.lost ?? 0) : 0;
  return { ...entry, order, lost, deferred: undefined };
};

/** A doubt that is only stated again has lost no worker. */
const lostAfter = (state: EffectState, { cause }: Pick<EffectInDoubt, 'cause'>): number =>
  (entryOf(state).lost ?? 0) + (state.status === 'started' && cause === 'worker_lost' ? 1 : 0);

/** A worker that reports an unknown outcome has ended. A lost worker may still be running. */
const unendedAfter = (state: EffectState, { epoch, cause }: EffectInDoubt): readonly Unended[] => {
  const entry = entryOf(state);
  const known = entry.unended ?? [];
  const lost = state.status === 'started' && cause !== 'outcome_unknown';
  return [
    ...known,
    ...(lost ? [lostStart(entry)] : []),
    // A skipped epoch belongs to a start that the ledger has lost.
    ...(epoch > entry.epoch + 1 ? [{ epoch: epoch - 1 }] : []),
  ];
};

/** "retry" withdraws a cancellation. */
const answered = (
  state: EffectState,
  { answer, by, until, attempt, statement }: EffectAnswered,
): EffectState => {
  if (state.status !== 'in_doubt') return state;
  const { order: began } = state.entry;
  // The order of the attempt that asked may come again, and must not count as newer than the answer.
  const order = { ...began, attempt: Math.max(began.attempt, attempt) };
  const entry = { ...state.entry, order, answered: { answer, by } };
  if (answer !== 'retry') return { ...state, entry };
  const retried = { ...entry, cancelRequested: false, repeatUntil: until };
  return { ...state, next: 'repeat', entry: statement === undefined ? retried : { ...retried, statement } };
};
