import type { Summary } from '@holdpoint/runtime/engine/ports';
import type { ApprovalState } from '../approval/state.ts';
import type { CallbackState } from '../callback/callback.ts';
import { callbackView } from './callbacks.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { RegisteredCapability } from '@holdpoint/contracts/approval/capability';
import type { ExecutorKey } from '../executor/enrolment.ts';
import type { People } from '../people/people.ts';
import type { Rule } from '../rule/state.ts';
import type { AccessToken } from '../token/access-token.ts';
import { approvalProgress } from './requests.ts';

/** Without the request: its event has it, and a decision does not write it again. */
export const approvalSummary = (state: ApprovalState): Summary => {
  if (state.status === 'absent' || state.status === 'withdrawn') return { status: state.status, view: null };
  const view = approvalProgress(state);
  return { status: view.status, view };
};

/** Without the approvals that it decided: only the rule itself needs them. */
export const ruleSummary = (state: Rule | undefined): Summary => ({
  status: 'rule',
  view: state === undefined ? null : { ...state, usedFor: [] },
});

/** A token is looked up by the hash of its secret; no answer contains the hash. Sign-ins end, and are purged. */
export const tokenSummary = (state: AccessToken | undefined): Summary => ({
  status: state?.signIn === undefined ? 'token' : 'sign_in',
  view: state ?? null,
});

export const peopleSummary = (state: People | undefined): Summary => ({
  status: 'people',
  view: state ?? null,
});

export const executorSummary = (state: ExecutorKey | undefined): Summary => ({
  status: state?.status ?? 'absent',
  view: state ?? null,
});

/** Registered and withdrawn ones alike: a capability is kept for good, and its own field tells. */
export const capabilitySummary = (state: RegisteredCapability | undefined): Summary => ({
  status: 'capability',
  view: state ?? null,
});

/** An ended callback is kept as long as its task. */
export const callbackSummary = (state: CallbackState | undefined): Summary => ({
  status: state?.status === 'open' ? 'callback' : 'withdrawn',
  view: state === undefined ? null : callbackView(state),
});

export const auditSummary = (_state: AuditLog | undefined): Summary => ({ status: 'audit', view: null });
