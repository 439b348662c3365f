import type { EnrolmentEvent, ExecutorKeyView, ExecutorReach } from '@holdpoint/contracts/approval/enrolment';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { ExecutorKeyId } from '@holdpoint/contracts/values/ids';
import { asSent, canonicalJson } from '@holdpoint/contracts/values/json';
import { type Decider, type Decision, decision, refused, unknownEvent } from '@holdpoint/runtime/decider';

/** The key of an executor. Another key of the same executor is another one of these. */
export type ExecutorKey = ExecutorKeyView & { readonly x: string };

export type EnrolmentMessage =
  | {
      readonly kind: 'enrol_executor';
      readonly id: ExecutorKeyId;
      readonly name: string;
      readonly key: string;
      readonly x: string;
      readonly reach?: ExecutorReach | undefined;
    }
  | {
      readonly kind: 'revoke_executor';
      readonly id: ExecutorKeyId;
      readonly by: string;
      readonly reason?: string | undefined;
    }
  | {
      readonly kind: 'forget_executor';
      readonly id: ExecutorKeyId;
      readonly by: string;
      readonly reason: string;
    };

type EnrolmentDecision = Decision<EnrolmentEvent>;

export const evolveExecutor = (state: ExecutorKey | undefined, event: EnrolmentEvent): ExecutorKey => {
  if (event.type === 'executor_enrolled') {
    const { type: _, at, ...enrolled } = event;
    return { ...enrolled, status: 'enrolled', enrolledAt: state?.enrolledAt ?? at };
  }
  if (state === undefined) throw new Error(`executor key ${event.id} was never enrolled`);
  switch (event.type) {
    case 'executor_forgotten':
      return { ...state, forgottenBy: event.by, forgottenWhy: event.reason };
    case 'executor_revoked':
      return { ...state, status: 'revoked', revokedBy: event.by, revokedAt: event.at };
    default:
      return unknownEvent(event);
  }
};

export const executorView = ({ x: _, ...key }: ExecutorKey): ExecutorKeyView => key;

const answered = (key: ExecutorKey): Pick<EnrolmentDecision, 'answer'> => ({
  answer: { ok: asSent(executorView(key)) },
});

const enrol = (
  state: ExecutorKey | undefined,
  { id, name, key, x, reach }: Extract<EnrolmentMessage, { kind: 'enrol_executor' }>,
  now: number,
): EnrolmentDecision => {
  if (state?.status === 'revoked')
    return refused(
      errorBody('APPROVALS_EXECUTOR_REVOKED', `the key of ${name} is revoked: delete it on the executor`),
    );
  if (state !== undefined && canonicalJson(state.reach ?? null) === canonicalJson(reach ?? null))
    return decision(answered(state));
  const event: EnrolmentEvent = {
    type: 'executor_enrolled',
    id,
    name,
    key,
    x,
    ...(reach && { reach }),
    at: now,
  };
  return decision({ events: [event], ...answered(evolveExecutor(state, event)) });
};

const unknown = (id: ExecutorKeyId): EnrolmentDecision =>
  refused(errorBody('APPROVALS_UNKNOWN_EXECUTOR', `unknown executor key: ${id}`));

/** For the record: the ledger of the executors is what forgets the journal. */
const forget = (
  state: ExecutorKey | undefined,
  { id, by, reason }: Extract<EnrolmentMessage, { kind: 'forget_executor' }>,
  now: number,
): EnrolmentDecision => {
  if (state === undefined) return unknown(id);
  if (state.forgottenBy === by && state.forgottenWhy === reason) return decision(answered(state));
  const { name, key } = state;
  const event: EnrolmentEvent = { type: 'executor_forgotten', id, name, key, by, reason, at: now };
  return decision({ events: [event], ...answered(evolveExecutor(state, event)) });
};

const revoke = (
  state: ExecutorKey | undefined,
  { id, by, reason }: Extract<EnrolmentMessage, { kind: 'revoke_executor' }>,
  now: number,
): EnrolmentDecision => {
  if (state === undefined) return unknown(id);
  if (state.status === 'revoked') return decision(answered(state));
  const { name, key } = state;
  const event: EnrolmentEvent = {
    type: 'executor_revoked',
    id,
    name,
    key,
    by,
    ...(reason !== undefined && { reason }),
    at: now,
  };
  return decision({ events: [event], ...answered(evolveExecutor(state, event)) });
};

export const enrolmentDecider: Decider<ExecutorKey | undefined, EnrolmentMessage, EnrolmentEvent> = {
  initial: undefined,
  evolve: evolveExecutor,
  decide: (state, message, { now }) => {
    switch (message.kind) {
      case 'enrol_executor':
        return enrol(state, message, now);
      case 'revoke_executor':
        return revoke(state, message, now);
      case 'forget_executor':
        return forget(state, message, now);
    }
  },
};
