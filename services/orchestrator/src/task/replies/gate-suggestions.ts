import type { ApprovalOutcome } from '@holdpoint/contracts/approval/status';
import type { EffectDuplicatePrevented, EffectInDoubt } from '@holdpoint/contracts/effect/events';
import type { Gate, Suggestion } from '@holdpoint/contracts/workflow/gate';
import type { NodeId } from '@holdpoint/contracts/values/ids';

// Gates suggest. Here the orchestrator decides what it does, and records why it deviates.

/** How the node continues after a decision. */
export type GateRoute =
  /** Order the effect, or continue the node. */
  | { readonly kind: 'resume' }
  /** Restart from that node. */
  | { readonly kind: 'back'; readonly to: NodeId }
  /** End the node as forbidden. */
  | { readonly kind: 'blocked' }
  /** Wait for a person. */
  | { readonly kind: 'paused' }
  /** Request a verdict. */
  | { readonly kind: 'recovering' }
  /** Use the result of an earlier attempt. */
  | { readonly kind: 'known' };

/** The route, and the reason when it is not the suggested one. */
export type GateSuggestion = { readonly course: GateRoute; readonly refused?: string };

/** The decision, and the facts that the route depends on. */
export type GateFacts = {
  readonly outcome: ApprovalOutcome;
  /** Approved, with a grant. */
  readonly granted: boolean;
  /** The effect gives up when its request expires. */
  readonly endsOnExpiry: boolean;
  /** The effect was applied in an earlier attempt. */
  readonly applied: boolean;
  /** The agent whose work the effect belongs to. */
  readonly agent: NodeId | undefined;
  /** Whether a restart of `to` restarts the gated node as well. */
  readonly leadsHere: (to: NodeId) => boolean;
};

const KEYS: Readonly<Partial<Record<ApprovalOutcome, keyof Gate['onDecision']>>> = {
  approved: 'approve',
  rejected: 'reject',
  changes_requested: 'request_changes',
  expired: 'expire',
};

/**
 * With `branches` the first branch that matches, else the entry for the decision. Cancellations have none.
 */
export const suggestionFor = (
  { resumePolicy, resumeBranches, onDecision }: Gate,
  outcome: ApprovalOutcome,
  holds: (condition: string) => boolean,
): (Suggestion & Pick<Gate['resumeBranches'][number], 'checkpoints'>) | undefined => {
  const key = KEYS[outcome];
  if (key === undefined) return undefined;
  const branch = resumePolicy === 'branches' ? resumeBranches.find(({ when }) => holds(when)) : undefined;
  return branch ?? onDecision[key];
};

/** The route without a usable suggestion. */
export const defaultRoute = ({ outcome, granted, agent, endsOnExpiry }: GateFacts): GateRoute => {
  if (outcome === 'approved' && granted) return { kind: 'resume' };
  if (outcome === 'expired') return { kind: endsOnExpiry ? 'blocked' : 'paused' };
  if (outcome !== 'changes_requested') return { kind: 'blocked' };
  return agent === undefined ? { kind: 'paused' } : { kind: 'back', to: agent };
};

const returned = ({ phase, to }: Suggestion, facts: GateFacts): GateRoute | string => {
  if (to !== undefined)
    return facts.leadsHere(to) ? { kind: 'back', to } : `the node is not downstream of ${to}`;
  if (phase === 'execution_ready')
    return facts.agent === undefined ? 'no agent works before the effect' : { kind: 'back', to: facts.agent };
  // An agent makes the changes. Without one, a person must.
  const goesBack = facts.outcome === 'changes_requested' && facts.agent !== undefined;
  if (phase !== undefined && !(phase === 'paused' && goesBack)) return { kind: phase };
  // Approved but stopped by the gate: a person must decide.
  return facts.outcome === 'approved' ? { kind: 'paused' } : defaultRoute(facts);
};

/** The suggested route, or the reason why it is impossible. */
const routeFor = (suggestion: Suggestion, facts: GateFacts): GateRoute | string => {
  switch (suggestion.emit) {
    case 'resume_executor':
      return facts.granted && facts.outcome === 'approved'
        ? { kind: 'resume' }
        : 'it needs an approval with a grant';
    case 'return_to_orchestrator':
      return returned(suggestion, facts);
    case 'skip_duplicate_effect':
      return facts.applied ? { kind: 'known' } : 'the effect was not applied before';
    case 'ask_orchestrator_for_resume_decision':
      return { kind: 'recovering' };
  }
};

const refusal = ({ emit }: Suggestion, why: string): string => `${emit} was suggested: ${why}`;

export const judge = (suggestion: Suggestion | undefined, facts: GateFacts): GateSuggestion => {
  const usual = defaultRoute(facts);
  if (suggestion === undefined) return { course: usual };
  const route = routeFor(suggestion, facts);
  return typeof route === 'string'
    ? { course: usual, refused: refusal(suggestion, route) }
    : { course: route };
};

/** After a lost worker: the rule of the effect class, or a question to people at once. */
export type CrashSuggestion = { readonly course: 'usual' | 'people'; readonly refused?: string };

const USUAL: CrashSuggestion = { course: 'usual' };
const usually = (suggestion: Suggestion, why: string): CrashSuggestion => ({
  course: 'usual',
  refused: refusal(suggestion, why),
});

/**
 * The effect is in doubt. Its class may let the executor repeat or probe it; otherwise recovery or people
 * decide.
 */
export const afterCrash = (
  suggestion: Suggestion | undefined,
  next: EffectInDoubt['next'],
): CrashSuggestion => {
  if (suggestion === undefined) return USUAL;
  const { emit, phase, to } = suggestion;
  const byItself = next !== 'person';
  switch (emit) {
    case 'resume_executor':
      return byItself
        ? USUAL
        : usually(suggestion, 'the effect may have been applied, and its class forbids a repeat');
    case 'skip_duplicate_effect':
      return usually(suggestion, 'the effect is not known to be applied');
    case 'ask_orchestrator_for_resume_decision':
      return USUAL;
    case 'return_to_orchestrator':
      if (to === undefined && (phase === undefined || phase === 'recovering')) return USUAL;
      if (byItself) return usually(suggestion, 'its class lets the executor probe or repeat it');
      return to === undefined && phase === 'paused'
        ? { course: 'people' }
        : usually(suggestion, 'the effect is in doubt, so its outcome must be known first');
  }
};

/** A duplicate order was not executed. Its outcome continues the task, as after the first order. */
export const afterDuplicate = (
  suggestion: Suggestion | undefined,
  standing: EffectDuplicatePrevented['outcome'],
): CrashSuggestion => {
  if (suggestion === undefined) return USUAL;
  const { emit, phase, to } = suggestion;
  switch (emit) {
    case 'resume_executor':
      return usually(suggestion, 'effects are never applied twice');
    case 'skip_duplicate_effect':
      return standing === 'applied' ? USUAL : usually(suggestion, 'the effect is not known to be applied');
    case 'ask_orchestrator_for_resume_decision':
      return USUAL;
    case 'return_to_orchestrator':
      return to === undefined && (phase === undefined || phase === 'recovering')
        ? USUAL
        : usually(suggestion, 'the outcome of the effect decides');
  }
};
