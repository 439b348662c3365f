import { questionOf } from '@holdpoint/contracts/workflow/approval-policy';
import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import type { CancelApproval, RequestApproval } from '@holdpoint/contracts/approval/commands';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { misstated } from '@holdpoint/contracts/effect/describe';
import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import { effectIdOf } from '@holdpoint/contracts/values/ids';
import { type Decider, decision, refused } from '@holdpoint/runtime/decider';
import { applyFloor, isReachable } from '../policy/apply-floor.ts';
import { DEFAULT_FLOOR } from '../policy/default-floor.ts';
import type { AdmittedRequest, ApprovalMessage, ApprovalState, ApprovalWork, Resolution } from './state.ts';
import { close, expired, type ApprovalDecision, repeatAnswer } from './close.ts';
import { deadlineTimers, escalate, EXPIRY, isEscalationTimer, remind } from './reminders.ts';
import { type SignGrant } from './grant.ts';
import { type ApprovalTools, decideByPerson, decideByRule } from './decide-request.ts';
import { evolveApproval } from './evolve.ts';
import {
  NO_NOTIFICATIONS,
  type Notifications,
  delivered,
  isNoticeTimer,
  retryNotice,
  notifySurfaces,
} from './notices.ts';
import { isOutcomeTimer, noteOutcome, outcomeTimerFired } from './outcome.ts';
import { isSameJson } from './response.ts';
import { decidesRollback, ROLLBACK_RULE } from '../rule/rollback-rule.ts';
import {
  consultRules,
  isConsultTimer,
  isKeepTimer,
  keepTimerFired,
  ruleKept,
  rulesTimerFired,
} from './consult-rules.ts';

/** Recomputes digest and effect id from the effect: a request must be consistent. */
const requestError = (asked: RequestApproval): ErrorBody | undefined => {
  const { effect, digest, effectId, task, node, inDoubt: doubt, stuck, input } = asked;
  // One decision cannot answer several questions.
  if ([doubt, stuck, input].filter((each) => each !== undefined).length > 1)
    return errorBody('CONTRACT_INVALID', 'inDoubt, stuck, input: a request may contain only one question');
  const isOne =
    effectDigest(effect) === digest &&
    effectIdOf(task, node, effect.idempotencyKey) === effectId &&
    effect.task === task &&
    effect.node === node;
  return isOne
    ? undefined
    : errorBody('APPROVALS_DIGEST_MISMATCH', 'digest or effect id does not match the effect');
};

/** Kind and target select the policy, so that they come from the arguments and not from the requester. */
const descriptionError = (asked: RequestApproval): ErrorBody | undefined => {
  const question = questionOf(asked);
  if (question !== 'effect' && question !== 'in_doubt') return undefined;
  const wrong = misstated(asked.effect);
  return wrong === undefined
    ? undefined
    : errorBody('APPROVALS_EFFECT_MISDESCRIBED', `${asked.effect.uses}: ${wrong}`);
};

const floorRefusal = ({ audience, floor }: AdmittedRequest): string => {
  const within = (floor?.within ?? []).map((names) => names.join(', ')).join('; ');
  return `APPROVALS_FLOOR_AUDIENCE: the policy needs members of ${within}; the request names only ${audience.join(', ')}`;
};

/** No approver may decide, or the effect cannot be carried out: the request ends before anybody is notified. */
const refuseAtOnce = (
  request: AdmittedRequest,
  comment: string,
  expiresAt: number,
  now: number,
): ApprovalDecision => {
  const { id, task, node, revision, digest } = request;
  return decision<ApprovalEvent, ApprovalWork>({
    events: [
      { type: 'requested', ...request, expiresAt },
      {
        type: 'resolved',
        id,
        task,
        node,
        revision,
        outcome: 'rejected',
        by: 'policy',
        surface: 'policy',
        comment,
        digest,
        at: now,
      },
    ],
  });
};

const request = (
  state: ApprovalState,
  {
    payload: asked,
    rules = [],
    floor = DEFAULT_FLOOR,
    people,
    refusal,
    words,
  }: Extract<ApprovalMessage, { kind: 'request' }>,
  now: number,
  { notifications, rollbackRule }: ApprovalTools,
): ApprovalDecision => {
  const wrong = requestError(asked) ?? (state.status === 'absent' ? descriptionError(asked) : undefined);
  if (wrong !== undefined) return refused(wrong);
  if (state.status === 'absent') {
    const payload = applyFloor({ ...asked, ...words }, floor);
    const expiresAt = now + payload.timeoutMs;
    if (questionOf(asked) === 'effect') {
      const comment = refusal ?? (isReachable(payload, people) ? undefined : floorRefusal(payload));
      if (comment !== undefined) return refuseAtOnce(payload, comment, expiresAt, now);
    }
    const builtIn = rollbackRule && decidesRollback(payload) ? [ROLLBACK_RULE] : [];
    const consulted = consultRules(payload, [...builtIn, ...rules], now);
    const notices = notifySurfaces(payload.id, notifications, 'requested', 1, now);
    return decision<ApprovalEvent, ApprovalWork>({
      events: [{ type: 'requested', ...payload, expiresAt }],
      timers: [...deadlineTimers(payload, now), ...consulted.timers, ...notices.timers],
      work: [...consulted.work, ...notices.work],
    });
  }
  if (state.status === 'withdrawn') return repeatAnswer(state, now);
  const { digest, inDoubt: doubt, input } = state.request;
  const isSame =
    digest === asked.digest &&
    questionOf(state.request) === questionOf(asked) &&
    isSameJson(input, asked.input);
  if (!isSame || doubt?.epoch !== asked.inDoubt?.epoch) {
    return refused(
      errorBody('APPROVALS_DIGEST_MISMATCH', `approval ${asked.id} was requested for another effect`),
    );
  }
  return state.status === 'closed' ? repeatAnswer(state, now) : decision({});
};

/**
 * The requester repeats a cancellation until it receives the resolution, so a lost resolution is sent again.
 */
const cancel = (
  state: ApprovalState,
  payload: CancelApproval,
  now: number,
  { notifications }: ApprovalTools,
): ApprovalDecision => {
  const decided = { outcome: 'cancelled', by: 'orchestrator', comment: payload.reason, at: now } as const;
  switch (state.status) {
    case 'absent':
      return recordWithdrawal(payload, decided);
    case 'pending':
      return close(state, decided, notifications, now);
    case 'closed':
    case 'withdrawn':
      return repeatAnswer(state, now);
  }
};

/** The bus may deliver the cancellation before its request. The request then finds itself withdrawn. */
const recordWithdrawal = (
  { id, task, node, revision }: CancelApproval,
  decided: Resolution,
): ApprovalDecision =>
  // Commands of an earlier version name only the approval, which is too little for a resolution.
  task === undefined || node === undefined || revision === undefined
    ? decision({})
    : decision({ events: [{ type: 'resolved', id, task, node, revision, ...decided }] });

const timerFired = (
  state: ApprovalState,
  { name, data }: Extract<ApprovalMessage, { kind: 'timer' }>,
  now: number,
  { notifications }: ApprovalTools,
): ApprovalDecision => {
  if (state.status !== 'pending' && state.status !== 'closed') return decision({});
  if (isNoticeTimer(name)) return retryNotice(state, name, data, now, notifications);
  if (isKeepTimer(name)) return keepTimerFired(data, now);
  if (isConsultTimer(name)) return rulesTimerFired(state, data, now);
  if (isOutcomeTimer(name)) return outcomeTimerFired(state, data, now);
  if (state.status === 'closed') return decision({});
  if (isEscalationTimer(name) && now < state.expiresAt) return escalate(state, data, notifications, now);
  if (name !== EXPIRY) return decision({});
  if (now < state.expiresAt) return remind(state, notifications, now);
  return close(state, expired(state), notifications, now);
};

const deliveredTo = (
  state: ApprovalState,
  message: Extract<ApprovalMessage, { kind: 'delivered' }>,
  now: number,
): ApprovalDecision =>
  state.status === 'pending' || state.status === 'closed' ? delivered(state, message, now) : decision({});

export type ApprovalOptions = Partial<Notifications & Pick<ApprovalTools, 'rollbackRule'>>;

/** One approval: one question about one exact effect, and one decision. */
export const createApprovalDecider = (
  sign: SignGrant,
  { rollbackRule = true, ...options }: ApprovalOptions = {},
): Decider<ApprovalState, ApprovalMessage, ApprovalEvent, ApprovalWork> => {
  const tools: ApprovalTools = {
    sign,
    rollbackRule,
    notifications: { ...NO_NOTIFICATIONS, ...options },
  };
  return {
    initial: { status: 'absent' },
    evolve: evolveApproval,
    decide: (state, message, { now }) => {
      switch (message.kind) {
        case 'request':
          return request(state, message, now, tools);
        case 'decide':
          return decideByPerson(state, message, now, tools);
        case 'rule_applies':
          return decideByRule(state, message, now, tools);
        case 'consider':
          return state.status === 'pending'
            ? decision(consultRules(state.request, message.rules, now))
            : decision({});
        case 'rule_kept':
          return ruleKept();
        case 'cancel':
          return cancel(state, message.payload, now, tools);
        case 'delivered':
          return deliveredTo(state, message, now);
        case 'outcome':
          return noteOutcome(state, message, now);
        case 'timer':
          return timerFired(state, message, now, tools);
      }
    },
  };
};

export type ApprovalDecider = ReturnType<typeof createApprovalDecider>;
