import type { ApprovalOutcome } from '@holdpoint/contracts/approval/status';
import type { EffectDuplicatePrevented, EffectInDoubt } from '@holdpoint/contracts/effect/events';
import type { Gate, Suggestion } from '@holdpoint/contracts/workflow/gate';
import type { NodeId } from '@holdpoint/contracts/values/ids';

// What a gate says is a suggestion. Here the orchestrator decides what it does, and why it does something else.

/** What it does once a request is decided. */
export type GateRoute =
  /** The effect is ordered, or the node goes on. */
  | { readonly kind: 'resume' }
  /** The task goes back to that node. */
  | { readonly kind: 'back'; readonly to: NodeId }
  /** The node ends as forbidden. */
  | { readonly kind: 'blocked' }
  /** The node waits for a person. */
  | { readonly kind: 'paused' }
  /** Recovery is asked. */
  | { readonly kind: 'recovering' }
  /** What the effect has come to before counts. */
  | { readonly kind: 'known' };

/** What it does, and why that is not what was suggested. */
export type GateJudgement = { readonly course: GateRoute; readonly refused?: string };

/** What was decided, and what is known of the effect and of the way that led to it. */
export type GateFacts = {
  readonly outcome: ApprovalOutcome;
  /** It was approved, and there is a grant. */
  readonly granted: boolean;
  /** It is known that the effect has been applied. */
  readonly applied: boolean;
  /** The agent whose work it is. */
  readonly agent: NodeId | undefined;
  /** Whether the node itself starts anew when the task goes back to that one. */
  readonly leadsHere: (to: NodeId) => boolean;
};

const KEYS: Readonly<Partial<Record<ApprovalOutcome, keyof Gate['onDecision']>>> = {
  approved: 'approve',
  rejected: 'reject',
  changes_requested: 'request_changes',
  expired: 'expire',
};

/** With `branches` the first that fits, else what is said of the decision; nothing of what was called off. */
export const suggestionFor = (
  { resumePolicy, resumeBranches, onDecision }: Gate,
  outcome: ApprovalOutcome,
  holds: (condition: string) => boolean,
): Suggestion | undefined => {
  const key = KEYS[outcome];
  if (key === undefined) return undefined;
  const branch = resumePolicy === 'branches' ? resumeBranches.find(({ when }) => holds(when)) : undefined;
  return branch ?? onDecision[key];
};

/** What follows when nothing is suggested, or nothing that can be done. */
export const defaultRoute = ({ outcome, granted, agent }: GateFacts): GateRoute => {
  if (outcome === 'approved' && granted) return { kind: 'resume' };
  if (outcome !== 'changes_requested') return { kind: 'blocked' };
  return agent === undefined ? { kind: 'paused' } : { kind: 'back', to: agent };
};

const returned = ({ phase, to }: Suggestion, facts: GateFacts): GateRoute | string => {
  if (to !== undefined)
    return facts.leadsHere(to) ? { kind: 'back', to } : `the node does not come after ${to}`;
  // Changes are made by whoever has worked on it; a person is waited for where nobody has.
  const goesBack = facts.outcome === 'changes_requested' && facts.agent !== undefined;
  if (phase !== undefined && !(phase === 'paused' && goesBack)) return { kind: phase };
  // It was approved, and is not to go on: somebody has to say what is.
  return facts.outcome === 'approved' ? { kind: 'paused' } : defaultRoute(facts);
};

/** What it comes to, or why it cannot be done. */
const routeFor = (suggestion: Suggestion, facts: GateFacts): GateRoute | string => {
  switch (suggestion.emit) {
    case 'resume_executor':
      return facts.granted && facts.outcome === 'approved'
        ? { kind: 'resume' }
        : 'only an approval with its grant lets it run';
    case 'return_to_orchestrator':
      return returned(suggestion, facts);
    case 'skip_duplicate_effect':
      return facts.applied ? { kind: 'known' } : 'it is not known to have been applied before';
    case 'ask_orchestrator_for_resume_decision':
      return { kind: 'recovering' };
  }
};

const refusal = ({ emit }: Suggestion, why: string): string => `${emit} was suggested: ${why}`;

/** What follows from a decision. */
export const judge = (suggestion: Suggestion | undefined, facts: GateFacts): GateJudgement => {
  const usual = defaultRoute(facts);
  if (suggestion === undefined) return { course: usual };
  const route = routeFor(suggestion, facts);
  return typeof route === 'string'
    ? { course: usual, refused: refusal(suggestion, route) }
    : { course: route };
};

/** What follows a lost worker: what the class of the effect says, or people are asked at once what became of it. */
export type CrashJudgement = { readonly course: 'usual' | 'people'; readonly refused?: string };

const USUAL: CrashJudgement = { course: 'usual' };
const usually = (suggestion: Suggestion, why: string): CrashJudgement => ({
  course: 'usual',
  refused: refusal(suggestion, why),
});

/**
 * Nobody knows whether the effect happened. What its class lets the executor repeat, or look up, goes on; otherwise recovery,
 * or people, are asked. Nothing else is safe.
 */
export const afterCrash = (
  suggestion: Suggestion | undefined,
  next: EffectInDoubt['next'],
): CrashJudgement => {
  if (suggestion === undefined) return USUAL;
  const { emit, phase, to } = suggestion;
  const byItself = next !== 'person';
  switch (emit) {
    case 'resume_executor':
      return byItself ? USUAL : usually(suggestion, 'it may have happened, and is not repeated');
    case 'skip_duplicate_effect':
      return usually(suggestion, 'it is not known to have been applied');
    case 'ask_orchestrator_for_resume_decision':
      return USUAL;
    case 'return_to_orchestrator':
      if (to === undefined && (phase === undefined || phase === 'recovering')) return USUAL;
      if (byItself) return usually(suggestion, 'its class lets the executor find out, or repeat it');
      return to === undefined && phase === 'paused'
        ? { course: 'people' }
        : usually(suggestion, 'first it has to be known whether it happened');
  }
};

/** It was ordered again, and not carried out again. What its outcome is leads on, as it does after the first order. */
export const afterDuplicate = (
  suggestion: Suggestion | undefined,
  standing: EffectDuplicatePrevented['standing'],
): CrashJudgement => {
  if (suggestion === undefined) return USUAL;
  const { emit, phase, to } = suggestion;
  switch (emit) {
    case 'resume_executor':
      return usually(suggestion, 'nothing is carried out twice');
    case 'skip_duplicate_effect':
      return standing === 'applied' ? USUAL : usually(suggestion, 'it is not known to have been applied');
    case 'ask_orchestrator_for_resume_decision':
      return USUAL;
    case 'return_to_orchestrator':
      return to === undefined && (phase === undefined || phase === 'recovering')
        ? USUAL
        : usually(suggestion, 'what its outcome is leads on');
  }
};
