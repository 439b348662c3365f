import type { Choice, RequestApproval } from '@holdpoint/contracts/approval/commands';
import { answerIn, policyOf, questionOf } from '@holdpoint/contracts/approval/question';
import { isForRules } from '@holdpoint/contracts/approval/standing-rule';
import type { ApprovalOutcome, Surface, Vote } from '@holdpoint/contracts/approval/status';
import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import { rememberedIdOf } from '@holdpoint/contracts/values/ids';
import { isSamePerson } from '@holdpoint/contracts/values/person';
import { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import { type Answer, decision, refused } from '@holdpoint/runtime/decider';
import { BUILT_IN, ROLLBACK_RULE, decidesRollback } from '../rule/rollback-rule.ts';
import { type DecideMessage, choiceError, entitlementError } from './check-decision.ts';
import { type ApprovalDecision, alreadyDecided, close, expired } from './close.ts';
import { keepRule } from './consult-rules.ts';
import { type SignGrant, signatureFor } from './grant.ts';
import type { Notifications } from './notices.ts';
import { isSameJson, responseOf } from './response.ts';
import type { ApprovalMessage, ApprovalState, Closed, Pending, Principal, Resolution } from './state.ts';
import { missingOf, outcomeOf, withVote } from './tally.ts';

/** Dependencies of the decider. */
export type ApprovalTools = {
  readonly sign: SignGrant;
  readonly notifications: Notifications;
  /** Whether the built-in rule may decide. */
  readonly rollbackRule: boolean;
};

const acknowledged = (
  id: string,
  status: ApprovalOutcome | 'pending',
  by: string,
  more: { readonly approvalsMissing?: number; readonly remembered?: string } = {},
): Answer => ({ ok: { id, status, by, ...more } });

const agentOf = ({ agent }: { readonly agent?: string | undefined }) =>
  agent === undefined ? {} : { agent };

/**
 * Refused attempts are recorded once per person and code, up to this number, so that nobody can flood the
 * history.
 */
const REFUSED_MAX = 50;

const recordRefusal = (
  state: Pending,
  by: Principal,
  error: ErrorBody,
  surface: Surface | undefined,
  now: number,
): ApprovalDecision => {
  const { code } = error;
  const isNew = !state.refused.includes(`${by.name}/${code}`) && state.refused.length < REFUSED_MAX;
  const { id } = state.request;
  return decision({
    events: isNew
      ? [{ type: 'decision_refused', id, by: by.name, ...agentOf(by), code, surface, at: now }]
      : [],
    answer: { error },
  });
};

/** The same person repeats the same decision: the first answer was probably lost, so it is given again. */
const repeatedDecision = (state: Closed, { payload, by }: DecideMessage): ApprovalDecision => {
  const { decided, request } = state;
  const { id, decision: choice } = payload;
  const outcome = outcomeBy(request, choice);
  const same =
    decided.outcome === outcome &&
    decided.answer === answerIn(choice) &&
    isSameJson(decided.response, request.input && responseOf(payload));
  // A decision of a person and one of their agent are different.
  const isSameVoter = (word: { readonly by: string; readonly agent?: string | undefined }): boolean =>
    word.by === by.name && word.agent === by.agent;
  // An expired request has `by: expiry`; a person of that name has not decided it.
  const had =
    (isSameVoter(decided) && decided.surface !== 'clock') ||
    decided.votes?.some((vote) => isSameVoter(vote) && vote.decision === choice) === true;
  const more = decided.remembered === undefined ? {} : { remembered: decided.remembered };
  return same && had && decided.rule === undefined
    ? decision({ answer: acknowledged(id, outcome, by.name, more) })
    : refused(alreadyDecided(state));
};

const OUTCOMES: Readonly<Record<Verb, ApprovalOutcome>> = {
  approve: 'approved',
  reject: 'rejected',
  request_changes: 'changes_requested',
};
/** Verbs decide on effects. To a question they are an answer. */
const outcomeBy = (request: RequestApproval, choice: Choice): ApprovalOutcome => {
  const { data: verb } = Verb.safeParse(choice);
  return verb === undefined || questionOf(request) !== 'effect' ? 'answered' : OUTCOMES[verb];
};

/** Characters for names in a grant. The event lists all voters; a grant has to stay short. */
const NAMES_MAX = 400;

const namesIn = (votes: readonly Vote[]): string => {
  const names = votes.filter(({ decision: said }) => said === 'approve').map(({ by }) => by);
  const text = names.join(', ');
  if (text.length <= NAMES_MAX) return text;
  return `${text.slice(0, NAMES_MAX).toWellFormed()} … (${String(names.length)} people)`;
};

const decidePending = (
  state: Pending,
  message: DecideMessage,
  now: number,
  tools: ApprovalTools,
): ApprovalDecision => {
  const { payload, by, surface } = message;
  const { request } = state;
  const { id, decision: choice, comment } = payload;
  const problem = entitlementError(state, by);
  if (problem !== undefined) return recordRefusal(state, by, problem, surface, now);
  const unsayable = choiceError(state, message);
  if (unsayable !== undefined) return refused(unsayable);
  if (now >= state.expiresAt) {
    const decided = expired(state);
    return close(state, decided, tools.notifications, now, {
      answer: { error: alreadyDecided({ ...state, status: 'closed', decided }) },
    });
  }
  const said = { by: by.name, ...agentOf(by), comment, surface, at: now };
  const verb = Verb.safeParse(choice).data;
  if (verb === undefined || request.input !== undefined) {
    const outcome = outcomeBy(request, choice);
    // A response to a program needs no signature: no executor acts on it.
    const what =
      request.input === undefined
        ? signatureFor(state, choice, by.name, now, tools.sign)
        : { response: responseOf(payload) };
    const decided = { outcome, ...said, ...what };
    return close(state, decided, tools.notifications, now, { answer: acknowledged(id, outcome, by.name) });
  }
  return vote(state, { ...said, decision: verb }, message, tools);
};

const vote = (
  state: Pending,
  cast: Vote,
  { payload, by }: DecideMessage,
  tools: ApprovalTools,
): ApprovalDecision => {
  const { request } = state;
  const { id, remember } = payload;
  const policy = policyOf(request);
  const votes = withVote(state.votes, cast);
  const outcome = outcomeOf(votes, policy);
  if (outcome === undefined) {
    const known = state.votes.some(
      ({ by: who, decision: said }) => who === cast.by && said === cast.decision,
    );
    return decision({
      events: known ? [] : [{ type: 'voted', id, ...cast, digest: request.digest }],
      answer: acknowledged(id, 'pending', by.name, { approvalsMissing: missingOf(votes, policy) }),
    });
  }
  const approvers = outcome === 'approved' ? namesIn(votes) : by.name;
  const rule = remember && rememberedIdOf(id);
  const decided: Resolution = {
    outcome,
    by: cast.by,
    ...agentOf(cast),
    comment: cast.comment,
    surface: cast.surface,
    ...(policy.quorum > 1 && { votes: [...votes] }),
    ...(rule !== undefined && { remembered: rule }),
    ...(outcome === 'approved' && signatureFor(state, 'approve', approvers, cast.at, tools.sign)),
    at: cast.at,
  };
  return close(state, decided, tools.notifications, cast.at, {
    answer: acknowledged(id, outcome, by.name, rule === undefined ? {} : { remembered: rule }),
    ...(remember &&
      rule !== undefined && {
        also: keepRule({ kind: 'keep_rule', rule, spec: remember, author: by, from: id }, cast.at),
      }),
  });
};

/** The first decision that counts stands. Later ones receive an error that names it. */
export const decideByPerson = (
  state: ApprovalState,
  message: DecideMessage,
  now: number,
  tools: ApprovalTools,
): ApprovalDecision => {
  const { id } = message.payload;
  switch (state.status) {
    case 'absent':
      return refused(errorBody('APPROVALS_UNKNOWN', `unknown approval: ${id}`));
    case 'withdrawn':
      return refused(alreadyDecided(state));
    case 'closed':
      return repeatedDecision(state, message);
    case 'pending':
      return decidePending(state, message, now, tools);
  }
};

/** A standing rule approves a request that is still pending. */
export const decideByRule = (
  state: ApprovalState,
  { rule, author }: Extract<ApprovalMessage, { kind: 'rule_applies' }>,
  now: number,
  tools: ApprovalTools,
): ApprovalDecision => {
  if (state.status !== 'pending' || now >= state.expiresAt) return decision({});
  const { request } = state;
  // The rule has checked this already. The signing side checks again.
  const isOwn = policyOf(request).fourEyes && isSamePerson(request.requestedBy, author);
  const may =
    rule === ROLLBACK_RULE
      ? tools.rollbackRule && author === BUILT_IN.name && decidesRollback(request)
      : !isOwn && isForRules(request);
  if (!may) return decision({});
  const by = `rule ${rule} of ${author}`;
  const decided: Resolution = {
    outcome: 'approved',
    by,
    surface: 'rule',
    rule,
    ...signatureFor(state, 'approve', by, now, tools.sign),
    at: now,
  };
  return close(state, decided, tools.notifications, now);
};
