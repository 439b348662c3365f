import { createApprovalDecider } from '@holdpoint/approvals/approval/decide';
import type { ApprovalMessage, ApprovalState } from '@holdpoint/approvals/approval/state';
import { DEADLINE } from '@holdpoint/approvals/testing/requests';
import { createEffectDecider, type EffectMessage } from '@holdpoint/executor/effect/decide';
import { type EffectState, entryIn } from '@holdpoint/executor/effect/state';
import { sign, verify } from './approval-grants.ts';
import { type ApprovalDecider, other, type Race, raceOfTwo, realRace } from './approval-race.ts';

const { approvals, executor } = realRace;

/** The real decider with a changed state. */
const misled = (mislead: (state: ApprovalState, message: ApprovalMessage) => ApprovalState): Race => ({
  ...realRace,
  approvals: {
    ...approvals,
    decide: (state, message, moment) => approvals.decide(mislead(state, message), message, moment),
  },
});

const reopened = (state: ApprovalState): ApprovalState => {
  if (state.status !== 'closed') return state;
  const { decided: _, ...asked } = state;
  return { ...asked, status: 'pending' };
};
const reopenedBy = (kind: ApprovalMessage['kind']): Race =>
  misled((state, message) => (message.kind === kind ? reopened(state) : state));

export const clockBeforeLock: Race = { ...realRace, clock: 'before the lock' };
export const secondDecisionOverwrites = reopenedBy('decide');
export const timerClosesWhatIsDecided = reopenedBy('timer');
export const withdrawalOverwrites = reopenedBy('cancel');

export const expiryNotCompared = misled((state, message) =>
  message.kind === 'decide' && state.status === 'pending'
    ? { ...state, expiresAt: Number.MAX_SAFE_INTEGER }
    : state,
);

export const withdrawalBeforeRequestForgotten = misled((state, message) =>
  message.kind === 'request' && state.status === 'withdrawn' ? approvals.initial : state,
);

/** Each vote gets a name of its own, so that two votes of one principal count as two. */
export const votesCountedNotPeople: Race = {
  ...misled((state, message) =>
    message.kind === 'decide' && state.status === 'pending'
      ? {
          ...state,
          votes: state.votes.map((vote, index) => ({ ...vote, by: `${vote.by} ${String(index)}` })),
        }
      : state,
  ),
  quorum: raceOfTwo.quorum,
};

const deciding = (decide: ApprovalDecider['decide']): Race => ({
  ...realRace,
  approvals: { ...approvals, decide },
});

export const earlyTimerCloses = deciding((state, message, { now }) =>
  approvals.decide(state, message, { now: message.kind === 'timer' ? Math.max(now, DEADLINE) : now }),
);

export const answersWhatWasAsked = deciding((state, message, moment) => {
  const made = approvals.decide(state, message, moment);
  if (message.kind !== 'decide' || state.status === 'absent') return made;
  const status = message.payload.decision === 'approve' ? 'approved' : 'rejected';
  return { ...made, answer: { ok: { status, by: message.by.name } } };
});

export const grantForAnotherDigest: Race = {
  ...realRace,
  approvals: createApprovalDecider((claims) => sign({ ...claims, digest: other.digest })),
};

const executing = (
  decideWith: (state: EffectState, message: EffectMessage) => readonly [EffectState, typeof verify],
): Race => ({
  ...realRace,
  executor: {
    ...executor,
    decide: (state, message, moment) => {
      const [seen, verifyToken] = decideWith(state, message);
      return createEffectDecider({ verify: verifyToken }).decide(seen, message, moment);
    },
  },
});

export const digestNotCompared = executing((state, message) => {
  const order = message.kind === 'run' ? message.payload : entryIn(state)?.order;
  return [
    state,
    (token) => {
      const claims = verify(token);
      return claims && order && { ...claims, digest: order.digest };
    },
  ];
});

export const grantEndNotCompared = executing((state) => [
  state,
  (token) => {
    const claims = verify(token);
    return claims && { ...claims, exp: Number.MAX_SAFE_INTEGER };
  },
]);

export const cancellationForgotten = executing((state, message) => [
  message.kind === 'run' && state.status === 'cancelled' ? executor.initial : state,
  verify,
]);
