import type { Gate as GateTemplate } from '@holdpoint/contracts/workflow/gate';
import type { ErrorCode } from '@holdpoint/contracts/values/errors';
import { suggestionsOf } from '@holdpoint/workflows/gate/problems';
import {
  type GateDecision,
  type EarlierAttempt,
  hasEnded,
  type AppliedEffect,
  type NodeState,
  outcomeOf,
} from './state.ts';

/** Gates show only the latest; the history has all. */
const EARLIER_KEPT = 20;
const MESSAGE_MAX = 2_000;

/** The error of a node whose effect may not run after this decision. */
export const decisionCode = (outcome: GateDecision['outcome']): ErrorCode =>
  outcome === 'expired' ? 'APPROVALS_EXPIRED' : 'ERR_FORBIDDEN';

export const decisionText = ({ outcome, by, comment }: GateDecision): string =>
  outcome === 'expired'
    ? `expired: ${comment ?? 'no decision before the deadline'}`
    : `${outcome.replace('_', ' ')} by ${by}${comment === undefined ? '' : `: ${comment}`}`;

const maySkipDuplicates = (gate: GateTemplate): boolean =>
  suggestionsOf(gate).some(([, { emit }]) => emit === 'skip_duplicate_effect');

const endOf = (state: NodeState): string => {
  const { status, gate, failure } = state;
  if (outcomeOf(state) === 'succeeded') return status;
  if (gate?.closed !== undefined) return gate.closed.outcome;
  return hasEnded(state) ? status : (failure?.outcome ?? status);
};

const errorOf = (state: NodeState): EarlierAttempt['error'] => {
  const { error, failure, gate } = state;
  if (outcomeOf(state) === 'succeeded') return null;
  const decided = gate?.closed && {
    code: decisionCode(gate.closed.outcome),
    message: decisionText(gate.closed),
  };
  const found = error ?? decided ?? failure?.error;
  return found === undefined
    ? null
    : { code: found.code, message: found.message.slice(0, MESSAGE_MAX).toWellFormed() };
};

const appliedEffectIn = (state: NodeState): AppliedEffect | undefined => {
  const { status, gate, ordered, appliedBefore, outputs = {}, context, payloads, detail, exitCode } = state;
  if (status !== 'succeeded' || gate === undefined || ordered !== true) return appliedBefore;
  return {
    effectId: gate.effectId,
    result: {
      outputs,
      ...(context && { context }),
      ...(payloads && { payloads }),
      ...(detail !== undefined && { detail }),
      ...(exitCode !== undefined && { exitCode }),
    },
  };
};

/** Keeps what the gate of a node may refer to after the next attempt starts. */
export const rememberAttempt = (
  gate: GateTemplate | undefined,
  state: NodeState,
): Pick<NodeState, 'earlier' | 'appliedBefore'> => {
  if (gate === undefined) return {};
  const { attempt, earlier = [] } = state;
  const entry = { attempt, outcome: endOf(state), error: errorOf(state) };
  const appliedBefore = maySkipDuplicates(gate) ? appliedEffectIn(state) : undefined;
  return {
    ...(gate.loadContext.includes('attempts') && { earlier: [...earlier, entry].slice(-EARLIER_KEPT) }),
    ...(appliedBefore && { appliedBefore }),
  };
};
