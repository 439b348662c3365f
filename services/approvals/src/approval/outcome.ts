import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import type { Json } from '@holdpoint/contracts/values/json';
import { type Decision, decision, type TimerChange } from '@holdpoint/runtime/decider';
import type { ApprovalMessage, ApprovalState, ApprovalWork, Closed } from './state.ts';
import { timerData } from './timer-data.ts';

// The bus may drop the event with the outcome of an effect. A timer therefore asks the executor.

/** Events of an effect that an approval records: its final results, and in doubt. */
export const OUTCOMES: readonly string[] = [
  'applied',
  'failed_clean',
  'not_applied',
  'in_doubt',
  'refused',
  'cancelled',
];

type ApprovalDecision = Decision<ApprovalEvent, ApprovalWork>;

const ASK = 'outcome';
const FIRST_ASK_MS = 120_000;
const ASK_FACTOR = 3;
const LAST_ASK_MS = 6 * 3_600_000;
/** About five days: no effect waits longer unless it was cancelled. */
const ASKS_MAX = 25;

export const isOutcomeTimer = (name: string): boolean => name === ASK;

/** Set with the approval. Most effects have finished long before it fires. */
export const awaitOutcome = (now: number, asks = 0): TimerChange => ({
  set: ASK,
  dueAt: now + Math.min(FIRST_ASK_MS * ASK_FACTOR ** asks, LAST_ASK_MS),
  data: { asks: asks + 1 },
});

/**
 * An applied effect is final. Any other outcome may be followed by another attempt while the grant is valid.
 */
const isFinal = ({ outcome, decided }: Closed, now: number): boolean =>
  outcome !== undefined &&
  (outcome.outcome === 'applied' || (outcome.outcome !== 'in_doubt' && now >= (decided.validUntil ?? 0)));

export const outcomeTimerFired = (state: ApprovalState, data: Json, now: number): ApprovalDecision => {
  const { asks } = timerData(data) as { readonly asks: number };
  if (state.status !== 'closed' || isFinal(state, now) || asks > ASKS_MAX)
    return decision({ timers: [{ clear: ASK }] });
  const { id: approval, effectId: effect } = state.request;
  return decision<ApprovalEvent, ApprovalWork>({
    timers: [awaitOutcome(now, asks)],
    work: [{ kind: 'ask_outcome', approval, effect }],
  });
};

/** A later epoch replaces an earlier one. Within an epoch, a certain outcome replaces in doubt. */
export const noteOutcome = (
  state: ApprovalState,
  { fact }: Extract<ApprovalMessage, { kind: 'outcome' }>,
  now: number,
): ApprovalDecision => {
  if (state.status !== 'closed' || state.decided.grant === undefined) return decision({});
  if (fact.effect !== state.request.effectId) return decision({});
  const known = state.outcome;
  const isNews =
    known === undefined ||
    fact.epoch > known.epoch ||
    (fact.epoch === known.epoch && known.outcome === 'in_doubt' && fact.outcome !== 'in_doubt');
  if (!isNews) return decision({});
  return decision<ApprovalEvent, ApprovalWork>({
    events: [{ type: 'effect_outcome_recorded', ...fact, at: now }],
    timers: fact.outcome === 'applied' ? [{ clear: ASK }] : [],
  });
};
