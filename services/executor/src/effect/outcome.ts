import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { decision } from '@holdpoint/runtime/decider';
import { isWork } from './admission.ts';
import {
  cancelWork,
  isCancelledWork,
  markInDoubt,
  markOrderInDoubt,
  nextAfter,
  startUnresolved,
} from './in-doubt.ts';
import type { EffectDecision, EffectWork, Outcome, Started } from './messages.ts';
import { nothing } from './start.ts';
import { attemptRef, type EffectState, entryIn } from './state.ts';
import type { Moment } from './timing.ts';

/** A worker reports the outcome of a start. */
export const outcome = (state: EffectState, epoch: number, result: Outcome, at: Moment): EffectDecision => {
  const entry = entryIn(state);
  if (entry === undefined) return nothing;
  const ref = attemptRef(entry.order);
  if (state.status === 'started' && entry.epoch === epoch) {
    const timers = [{ clear: 'lease' }] as const;
    switch (result.kind) {
      case 'applied':
        return decision({ events: [{ type: 'applied', ...ref, epoch, outputs: result.outputs }], timers });
      case 'failed_clean':
        if (isCancelledWork(entry)) return cancelWork(ref, result.error.message);
        return entry.mayHaveHappened && !isWork(entry.order)
          ? stillInDoubt(state, result.error.message, at)
          : decision({ events: [{ type: 'failed_clean', ...ref, epoch, error: result.error }], timers });
      case 'unknown':
        return startUnresolved(state, result.reason, 'outcome_unknown', at);
    }
  }
  if (entry.epoch <= epoch || entry.evidence.includes(epoch) || result.kind === 'unknown') return nothing;
  const late: EffectEvent = {
    type: 'superseded',
    ...ref,
    epoch,
    observed: result.kind,
    ...(contradicts(state, epoch, result) && { contradicts: true }),
  };
  // A late "applied" is certain and resolves a doubt. No other late report changes the state.
  if (state.status === 'in_doubt' && result.kind === 'applied') {
    const timers = [{ clear: 'slot' }] as const;
    return decision<EffectEvent, EffectWork>({
      events: [late, { type: 'applied', ...ref, epoch: entry.epoch, outputs: result.outputs }],
      timers,
    });
  }
  return decision({ events: [late] });
};

/** A late report is the opposite of the recorded outcome. The executor cannot repair that; an operator has to look. */
const contradicts = (state: EffectState, epoch: number, { kind }: Outcome): boolean => {
  const entry = entryIn(state);
  if (entry === undefined || isWork(entry.order)) return false;
  if (kind === 'applied') return epoch <= (entry.settled ?? 0);
  // The only start did nothing, although an operator answered that it did.
  const isOnly = entry.starts === 1 && (entry.unended ?? []).every((lost) => lost.epoch === epoch);
  return state.status === 'applied' && isOnly && kind === 'failed_clean';
};

/** A repeat that did nothing proves nothing about earlier starts. */
const stillInDoubt = (state: Started, problem: string, at: Moment): EffectDecision => {
  const { order, epoch } = state.entry;
  const reason = `repeated without effect: ${problem}`;
  const cause = 'outcome_unknown';
  const inDoubt = markInDoubt(state, reason, nextAfter(state.entry, cause), at, cause);
  const late: EffectEvent = { type: 'superseded', ...attemptRef(order), epoch, observed: 'failed_clean' };
  return { ...inDoubt, events: [...inDoubt.events, late] };
};

/**
 * A journal has a start that the ledger does not know: the database was restored to an earlier state. The effect is in doubt
 * from then on, and the epoch of that start is over. Starts that the ledger knows change nothing.
 */
export const journalled = (
  state: EffectState,
  order: RunEffect,
  epoch: number,
  at: Moment,
): EffectDecision => {
  const entry = entryIn(state);
  if (entry !== undefined && (entry.epoch >= epoch || entry.evidence.includes(epoch))) return nothing;
  if (state.status === 'applied') {
    const ref = attemptRef(state.entry.order);
    return decision({ events: [{ type: 'superseded', ...ref, epoch, observed: 'journalled' }] });
  }
  const open = state.status === 'prepared' || state.status === 'started' || state.status === 'in_doubt';
  const same = open && state.entry.order.digest === order.digest;
  const cancelRequested = state.status === 'cancelled' || entry?.cancelRequested === true;
  if (cancelRequested && isWork(order)) {
    return state.status === 'cancelled'
      ? nothing
      : cancelWork(attemptRef(order), 'cancelled before the database was restored');
  }
  const next = nextAfter({ order, starts: entry?.starts ?? 0, cancelRequested }, 'ledger_set_back');
  const reason = 'started before the database was restored, and its outcome is lost';
  const doubt = { reason, next, cause: 'ledger_set_back' } as const;
  const inDoubt = markOrderInDoubt(same ? state.entry.order : order, epoch + 1, doubt, at);
  return same ? inDoubt : { ...inDoubt, events: [...reorder(state, order), ...inDoubt.events] };
};

/** The lost order, recorded again. A cancellation stays in force. */
const reorder = (state: EffectState, order: RunEffect): readonly EffectEvent[] => {
  const ref = attemptRef(order);
  return [
    { type: 'prepared', ...ref, order },
    ...(state.status === 'cancelled'
      ? [{ type: 'cancel_requested', ...ref, reason: state.reason } as const]
      : []),
  ];
};
