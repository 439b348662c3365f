import type { Summary } from '@holdpoint/runtime/engine/ports';
import type { ApprovalState } from '../approval/state.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { ExecutorKey } from '../executor/enrolment.ts';
import type { Rule } from '../rule/state.ts';
import type { AccessToken } from '../token/access-token.ts';
import { approvalView } from './requests.ts';

export const approvalSummary = (state: ApprovalState): Summary => {
  if (state.status === 'absent' || state.status === 'withdrawn') return { status: state.status, view: null };
  const view = approvalView(state);
  return { status: view.status, view };
};

/** Without the approvals that it decided: only the rule itself needs them. */
export const ruleSummary = (state: Rule | undefined): Summary => ({
  status: 'rule',
  view: state === undefined ? null : { ...state, usedFor: [] },
});

/** A token is looked up by the hash of its secret; no answer contains the hash. */
export const tokenSummary = (state: AccessToken | undefined): Summary => ({
  status: 'token',
  view: state ?? null,
});

export const executorSummary = (state: ExecutorKey | undefined): Summary => ({
  status: state?.status ?? 'absent',
  view: state ?? null,
});

export const auditSummary = (_state: AuditLog | undefined): Summary => ({ status: 'audit', view: null });
