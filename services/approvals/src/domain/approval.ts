import {
  type ApprovalEvent,
  type ApprovalOutcome,
  type ApprovalResolved,
  type CancelApproval,
  type Choice,
  type DecideApproval,
  type RequestApproval,
  Verb,
} from '@holdpoint/contracts/approval';
import { DoubtAnswer, effectDigest, type SignedClaims } from '@holdpoint/contracts/effect';
import { type ErrorBody, errorBody } from '@holdpoint/contracts/errors';
import { eventType } from '@holdpoint/contracts/cloudevents';
import { effectIdOf } from '@holdpoint/contracts/ids';
import type { Json } from '@holdpoint/contracts/json';
import { subjects } from '@holdpoint/contracts/subjects';
import { type Answer, type Decider, type Decision, decision, refused } from '@holdpoint/runtime/decider';

type Decided = Pick<
  ApprovalResolved,
  'outcome' | 'by' | 'comment' | 'grant' | 'validUntil' | 'answer' | 'statement'
> & { readonly at: number };

export type ApprovalState =
  | { readonly status: 'absent' }
  | {
      readonly status: 'pending';
      readonly request: RequestApproval;
      readonly requestedAt: number;
      readonly expiresAt: number;
    }
  | {
      readonly status: 'closed';
      readonly request: RequestApproval;
      readonly requestedAt: number;
      readonly expiresAt: number;
      readonly decided: Decided;
    }
  /** Cancelled before its request arrived: nobody was asked, and nobody will be. */
  | {
      readonly status: 'withdrawn';
      readonly about: Pick<ApprovalResolved, 'id' | 'task' | 'node' | 'revision'>;
      readonly decided: Decided;
    };
type Pending = Extract<ApprovalState, { status: 'pending' }>;
type Over = Extract<ApprovalState, { decided: Decided }>;

/** An authenticated person. Who it is comes from the credentials of the call, never from its body. */
export type Principal = { readonly name: string; readonly groups: readonly string[] };

export type ApprovalMessage =
  | { readonly kind: 'request'; readonly payload: RequestApproval }
  | { readonly kind: 'decide'; readonly payload: DecideApproval; readonly by: Principal }
  | { readonly kind: 'cancel'; readonly payload: CancelApproval }
  | { readonly kind: 'timer'; readonly name: string; readonly data: Json };

/** Signs a grant, or what was said of a doubt. Ed25519 is deterministic, so that deciding stays a pure function. */
export type SignGrant = (claims: SignedClaims) => string;

/** How long a grant, or a statement, may be used after the decision: long enough to outlast a stopped executor. */
const GRANT_VALID_MS = 3_600_000;
const EXPIRY = 'expiry';

const OUTCOMES: Readonly<Record<Choice, ApprovalOutcome>> = {
  approve: 'approved',
  reject: 'rejected',
  request_changes: 'changes_requested',
  applied: 'answered',
  not_applied: 'answered',
  retry: 'answered',
};

const evolve = (state: ApprovalState, event: ApprovalEvent): ApprovalState => {
  switch (event.type) {
    case 'requested': {
      const { type: _, expiresAt, ...request } = event;
      return { status: 'pending', request, requestedAt: expiresAt - request.timeoutMs, expiresAt };
    }
    case 'resolved': {
      const { id, task, node, revision, outcome, by, comment, grant, validUntil, answer, statement, at } =
        event;
      const decided = { outcome, by, comment, grant, validUntil, answer, statement, at };
      return state.status === 'pending' || state.status === 'closed'
        ? { ...state, status: 'closed', decided }
        : { status: 'withdrawn', about: { id, task, node, revision }, decided };
    }
  }
};

const aboutOf = (state: Over): Extract<ApprovalState, { status: 'withdrawn' }>['about'] =>
  state.status === 'withdrawn' ? state.about : state.request;

const resolution = (state: Over): ApprovalResolved => {
  const { id, task, node, revision } = aboutOf(state);
  return { type: 'resolved', id, task, node, revision, ...state.decided };
};

const close = (state: Pending, decided: Decided, answer?: Answer): Decision<ApprovalEvent> =>
  decision({
    events: [resolution({ ...state, status: 'closed', decided })],
    timers: [{ clear: EXPIRY }],
    ...(answer && { answer }),
  });

const standing = (state: Over): ErrorBody => {
  const { outcome: status, by, at, answer } = state.decided;
  const said = answer === undefined ? status : `${status} with ${answer}`;
  const text = `approval ${aboutOf(state).id} is ${said}, by ${by}`;
  return errorBody('APPROVALS_ALREADY_DECIDED', text, { status, by, at });
};

const acknowledged = (id: string, outcome: ApprovalOutcome, by: string): Answer => ({
  ok: { id, status: outcome, by },
});

/** What is asked must hang together: digest and effect id are computed again from the effect itself. */
const inconsistency = ({ effect, digest, effectId, task, node }: RequestApproval): ErrorBody | undefined => {
  const matches =
    effectDigest(effect) === digest &&
    effectIdOf(task, node, effect.idempotencyKey) === effectId &&
    effect.task === task &&
    effect.node === node;
  return matches
    ? undefined
    : errorBody('APPROVALS_DIGEST_MISMATCH', 'digest or effect id do not belong to this effect');
};

const request = (state: ApprovalState, payload: RequestApproval, now: number): Decision<ApprovalEvent> => {
  const wrong = inconsistency(payload);
  if (wrong !== undefined) return refused(wrong);
  if (state.status === 'absent') {
    const expiresAt = now + payload.timeoutMs;
    return decision({
      events: [{ type: 'requested', ...payload, expiresAt }],
      timers: [{ set: EXPIRY, dueAt: expiresAt }],
    });
  }
  if (state.status === 'withdrawn') return repeatAnswer(state, now);
  if (state.request.digest !== payload.digest || state.request.doubt?.epoch !== payload.doubt?.epoch) {
    return refused(
      errorBody('APPROVALS_DIGEST_MISMATCH', `approval ${payload.id} was requested for another effect`),
    );
  }
  return state.status === 'closed' ? repeatAnswer(state, now) : decision({});
};

/** Whoever asks again has not heard the answer: it is sent again, under a message id that the bus has not seen. */
const repeatAnswer = (state: Over, now: number): Decision<ApprovalEvent> => {
  const { id } = aboutOf(state);
  return decision({
    send: [
      {
        subject: subjects.fact('approval', 'resolved', id),
        id: `approval.${id}.again.${String(now)}`,
        type: eventType('approval', 'resolved'),
        data: resolution(state),
      },
    ],
  });
};

const expired = (state: Pending): Decided => ({ outcome: 'expired', by: 'expiry', at: state.expiresAt });

/** Of what is asked, what can be said: whether an effect may run, or what became of one. */
const choicesOf = ({ doubt }: RequestApproval): readonly Choice[] =>
  doubt === undefined ? Verb.options : DoubtAnswer.options;

/** A doubt is answered with what was said itself; a decision on an effect says it all by its outcome. */
const answerIn = (choice: Choice): DoubtAnswer | undefined => DoubtAnswer.safeParse(choice).data;

/** What the executor goes by: it believes nobody but whoever has the key. */
const signed = (
  { request: { id, effectId, digest, doubt } }: Pending,
  choice: Choice,
  by: string,
  now: number,
  sign: SignGrant,
): Pick<Decided, 'grant' | 'validUntil' | 'answer' | 'statement'> => {
  const validUntil = now + GRANT_VALID_MS;
  const seconds = (ms: number): number => Math.floor(ms / 1_000);
  const claims = { jti: id, sub: effectId, digest, by, iat: seconds(now), exp: seconds(validUntil) };
  const answer = answerIn(choice);
  if (answer !== undefined && doubt !== undefined)
    return { answer, statement: sign({ use: 'answer', ...claims, epoch: doubt.epoch, answer }) };
  return choice === 'approve' ? { grant: sign(claims), validUntil } : {};
};

const decideByPerson = (
  state: ApprovalState,
  { id, decision: choice, comment, digest }: DecideApproval,
  by: Principal,
  now: number,
  sign: SignGrant,
): Decision<ApprovalEvent> => {
  const outcome = OUTCOMES[choice];
  switch (state.status) {
    case 'absent':
      return refused(errorBody('APPROVALS_UNKNOWN', `no approval is called ${id}`));
    case 'withdrawn':
      return refused(standing(state));
    case 'closed': {
      const { decided } = state;
      const same = decided.outcome === outcome && decided.answer === answerIn(choice);
      // The same person saying the same again has probably not heard that it was done.
      return same && decided.by === by.name
        ? decision({ answer: acknowledged(id, outcome, by.name) })
        : refused(standing(state));
    }
    case 'pending': {
      if (!state.request.audience.some((group) => by.groups.includes(group))) {
        return refused(
          errorBody(
            'APPROVALS_NOT_ENTITLED',
            `${by.name} is not among those who may decide: ${state.request.audience.join(', ')}`,
          ),
        );
      }
      const choices = choicesOf(state.request);
      if (!choices.includes(choice)) {
        const asked = state.request.doubt === undefined ? 'whether it may run' : 'what became of it';
        const text = `${id} asks ${asked}: ${choices.join(', ')}`;
        return refused(errorBody('APPROVALS_NO_CHOICE', text, { choices: [...choices] }));
      }
      if (digest !== undefined && digest !== state.request.digest) {
        return refused(errorBody('APPROVALS_DIGEST_MISMATCH', 'the effect is not the one that was shown'));
      }
      if (now >= state.expiresAt) {
        const decided = expired(state);
        return close(state, decided, { error: standing({ ...state, status: 'closed', decided }) });
      }
      return close(
        state,
        { outcome, by: by.name, comment, ...signed(state, choice, by.name, now, sign), at: now },
        acknowledged(id, outcome, by.name),
      );
    }
  }
};

/** Whoever cancels asks until it is answered: an answer that was lost is given again. */
const cancel = (state: ApprovalState, payload: CancelApproval, now: number): Decision<ApprovalEvent> => {
  const decided = { outcome: 'cancelled', by: 'orchestrator', comment: payload.reason, at: now } as const;
  switch (state.status) {
    case 'absent':
      return remember(payload, decided);
    case 'pending':
      return close(state, decided);
    case 'closed':
    case 'withdrawn':
      return repeatAnswer(state, now);
  }
};

/** The bus may bring the cancellation first: the request that comes after it finds that nobody wants it any more. */
const remember = ({ id, task, node, revision }: CancelApproval, decided: Decided): Decision<ApprovalEvent> =>
  // An orchestrator of an earlier version says only which approval it is: too little to answer with.
  task === undefined || node === undefined || revision === undefined
    ? decision({})
    : decision({ events: [{ type: 'resolved', id, task, node, revision, ...decided }] });

const timerFired = (state: ApprovalState, name: string, now: number): Decision<ApprovalEvent> => {
  if (name !== EXPIRY || state.status !== 'pending') return decision({});
  if (now < state.expiresAt) return decision({ timers: [{ set: EXPIRY, dueAt: state.expiresAt }] });
  return close(state, expired(state));
};

/** One approval: one question about one exact effect, and one answer. */
export const createApprovalDecider = (
  sign: SignGrant,
): Decider<ApprovalState, ApprovalMessage, ApprovalEvent> => ({
  initial: { status: 'absent' },
  evolve,
  decide: (state, message, { now }) => {
    switch (message.kind) {
      case 'request':
        return request(state, message.payload, now);
      case 'decide':
        return decideByPerson(state, message.payload, message.by, now, sign);
      case 'cancel':
        return cancel(state, message.payload, now);
      case 'timer':
        return timerFired(state, message.name, now);
    }
  },
});
