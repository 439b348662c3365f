import type {
  ApprovalEvent,
  ApprovalOutcome,
  ApprovalResolved,
  CancelApproval,
  DecideApproval,
  RequestApproval,
  Verb,
} from '@holdpoint/contracts/approval';
import { effectDigest, type GrantClaims } from '@holdpoint/contracts/effect';
import { type ErrorBody, errorBody } from '@holdpoint/contracts/errors';
import { eventType } from '@holdpoint/contracts/cloudevents';
import { effectIdOf } from '@holdpoint/contracts/ids';
import type { Json } from '@holdpoint/contracts/json';
import { subjects } from '@holdpoint/contracts/subjects';
import { type Answer, type Decider, type Decision, decision, refused } from '@holdpoint/runtime/decider';

type Decided = Pick<ApprovalResolved, 'outcome' | 'by' | 'comment' | 'grant' | 'validUntil'> & {
  readonly at: number;
};

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

/** Signs a grant. Ed25519 is deterministic, so that deciding stays a pure function. */
export type SignGrant = (claims: GrantClaims) => string;

/** How long a grant may be used after the decision: long enough to outlast a stopped executor. */
const GRANT_VALID_MS = 3_600_000;
const EXPIRY = 'expiry';

const OUTCOMES: Readonly<Record<Verb, ApprovalOutcome>> = {
  approve: 'approved',
  reject: 'rejected',
  request_changes: 'changes_requested',
};

const evolve = (state: ApprovalState, event: ApprovalEvent): ApprovalState => {
  switch (event.type) {
    case 'requested': {
      const { type: _, expiresAt, ...request } = event;
      return { status: 'pending', request, requestedAt: expiresAt - request.timeoutMs, expiresAt };
    }
    case 'resolved': {
      const { id, task, node, revision, outcome, by, comment, grant, validUntil, at } = event;
      const decided = { outcome, by, comment, grant, validUntil, at };
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
  const { outcome: status, by, at } = state.decided;
  const text = `approval ${aboutOf(state).id} is ${status}, by ${by}`;
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
  if (state.request.digest !== payload.digest) {
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

const grantFor = (
  state: Pending,
  by: string,
  now: number,
  sign: SignGrant,
): Pick<Decided, 'grant' | 'validUntil'> => {
  const { id, effectId, digest } = state.request;
  const validUntil = now + GRANT_VALID_MS;
  const seconds = (ms: number): number => Math.floor(ms / 1_000);
  return {
    grant: sign({ jti: id, sub: effectId, digest, by, iat: seconds(now), exp: seconds(validUntil) }),
    validUntil,
  };
};

const decideByPerson = (
  state: ApprovalState,
  { id, decision: verb, comment, digest }: DecideApproval,
  by: Principal,
  now: number,
  sign: SignGrant,
): Decision<ApprovalEvent> => {
  const outcome = OUTCOMES[verb];
  switch (state.status) {
    case 'absent':
      return refused(errorBody('APPROVALS_UNKNOWN', `no approval is called ${id}`));
    case 'withdrawn':
      return refused(standing(state));
    case 'closed':
      // The same person saying the same again has probably not heard that it was done.
      return state.decided.outcome === outcome && state.decided.by === by.name
        ? decision({ answer: acknowledged(id, outcome, by.name) })
        : refused(standing(state));
    case 'pending': {
      if (!state.request.audience.some((group) => by.groups.includes(group))) {
        return refused(
          errorBody(
            'APPROVALS_NOT_ENTITLED',
            `${by.name} is not among those who may decide: ${state.request.audience.join(', ')}`,
          ),
        );
      }
      if (digest !== undefined && digest !== state.request.digest) {
        return refused(errorBody('APPROVALS_DIGEST_MISMATCH', 'the effect is not the one that was shown'));
      }
      if (now >= state.expiresAt) {
        const decided = expired(state);
        return close(state, decided, { error: standing({ ...state, status: 'closed', decided }) });
      }
      const grant = outcome === 'approved' ? grantFor(state, by.name, now, sign) : {};
      return close(
        state,
        { outcome, by: by.name, comment, ...grant, at: now },
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
