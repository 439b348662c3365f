import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { decision } from '@holdpoint/runtime/decider';
import { isWork } from './admission.ts';
import { cancelWork, markInDoubt, markOrderInDoubt, isCancelledWork, nextAfter, startUnresolved } from './in-doubt.ts';
import type { EffectWork, EffectDecision, Outcome, Started } from './messages.ts';
import { attemptRef, type EffectState, entryIn } from './state.ts';
import { nothing } from './start.ts';

/** What a worker says of a start of it. */
export const outcome = (state: EffectState, epoch: number, result: Outcome, now: number): EffectDecision => {
  const entry = entryIn(state);
  if (entry === undefined) return nothing;
  const about = attemptRef(entry.order);
  if (state.status === 'started' && entry.epoch === epoch) {
    const timers = [{ clear: 'lease' }] as const;
    switch (result.kind) {
      case 'applied':
        return decision({ events: [{ type: 'applied', ...about, epoch, outputs: result.outputs }], timers });
      case 'failed_clean':
        if (isCancelledWork(entry)) return cancelWork(about, result.error.message);
        return entry.mayHaveHappened && !isWork(entry.order)
          ? stillInDoubt(state, result.error.message, now)
          : decision({ events: [{ type: 'failed_clean', ...about, epoch, error: result.error }], timers });
      case 'unknown':
        return startUnresolved(state, result.reason, 'outcome_unknown', now);
    }
  }
  if (entry.epoch <= epoch || entry.evidence.includes(epoch) || result.kind === 'unknown') return nothing;
  const seen: EffectEvent = {
    type: 'superseded',
    ...about,
    epoch,
    observed: result.kind,
    ...(contradicts(state, epoch, result) && { contradicts: true }),
  };
  // Late, but certain: that it did happen resolves a doubt. Nothing else that comes late changes anything.
  if (state.status === 'in_doubt' && result.kind === 'applied') {
    const timers = [{ clear: 'place' }] as const;
    return decision<EffectEvent, EffectWork>({
      events: [seen, { type: 'applied', ...about, epoch: entry.epoch, outputs: result.outputs }],
      timers,
    });
  }
  return decision({ events: [seen] });
};

/** What comes late says the opposite of what was settled. Nothing that we do can mend that; somebody has to look. */
const contradicts = (state: EffectState, epoch: number, { kind }: Outcome): boolean => {
  const entry = entryIn(state);
  if (entry === undefined || isWork(entry.order)) return false;
  if (kind === 'applied') return epoch <= (entry.settled ?? 0);
  // The only start there was did nothing, and somebody said that it had.
  const isOnly = entry.starts === 1 && (entry.unended ?? []).every((lost) => lost.epoch === epoch);
  return state.status === 'applied' && isOnly && kind === 'failed_clean';
};

/** A repeat that certainly did nothing says nothing of the starts before it: what they did is as unknown as before. */
const stillInDoubt = (state: Started, problem: string, now: number): EffectDecision => {
  const { order, epoch } = state.entry;
  const reason = `repeated without effect: ${problem}`;
  const cause = 'outcome_unknown';
  const made = markInDoubt(state, reason, nextAfter(state.entry, cause), now, cause);
  const seen: EffectEvent = { type: 'superseded', ...attemptRef(order), epoch, observed: 'failed_clean' };
  return { ...made, events: [...made.events, seen] };
};

/**
 * The ledger does not know of a start that a journal has: it was set back behind it. Whatever it says of the effect is as it
 * was before, so that nobody knows any more, and the epoch of that start is over. What it knows is left as it is.
 */
export const journalled = (state: EffectState, order: RunEffect, epoch: number, now: number): EffectDecision => {
  const entry = entryIn(state);
  if (entry !== undefined && (entry.epoch >= epoch || entry.evidence.includes(epoch))) return nothing;
  if (state.status === 'applied') {
    const about = attemptRef(state.entry.order);
    return decision({ events: [{ type: 'superseded', ...about, epoch, observed: 'journalled' }] });
  }
  const open = state.status === 'prepared' || state.status === 'started' || state.status === 'in_doubt';
  const same = open && state.entry.order.digest === order.digest;
  const calledOff = state.status === 'cancelled' || entry?.cancelRequested === true;
  if (calledOff && isWork(order)) {
    return state.status === 'cancelled'
      ? nothing
      : cancelWork(attemptRef(order), 'it was cancelled before the database was set back');
  }
  const next = nextAfter({ order, starts: entry?.starts ?? 0, cancelRequested: calledOff }, 'ledger_set_back');
  const reason = 'it was started before the database was set back, and what came of it is lost';
  const doubtful = { reason, next, cause: 'ledger_set_back' } as const;
  const made = markOrderInDoubt(same ? state.entry.order : order, epoch + 1, doubtful, now);
  return same ? made : { ...made, events: [...reorder(state, order), ...made.events] };
};

/** What was cancelled stays called off, though it is in doubt from now on. */
const reorder = (state: EffectState, order: RunEffect): readonly EffectEvent[] => {
  const about = attemptRef(order);
  return [
    { type: 'prepared', ...about, order },
    ...(state.status === 'cancelled'
      ? [{ type: 'cancel_requested', ...about, reason: state.reason } as const]
      : []),
  ];
};
