import type { TokenEvent } from '@holdpoint/contracts/approval/access-token';
import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import type { AuditAnchored, AuditClaims } from '@holdpoint/contracts/audit/audit';
import type { SignedClaims } from '@holdpoint/contracts/effect/grant';
import type { RuleEvent } from '@holdpoint/contracts/approval/standing-rule';
import { type Decider, type Decision, decision } from '@holdpoint/runtime/decider';
import { type AccessToken, decideToken, evolveToken, type TokenMessage } from './token/access-token.ts';
import { type ApprovalOptions, createApprovalDecider } from './approval/decide.ts';
import type { ApprovalMessage, ApprovalState, ApprovalWork } from './approval/state.ts';
import { type AuditLog, type AuditMessage, decideAudit, evolveAudit } from './audit/audit-log.ts';
import { decideRule, evolveRule, type Rule, type RuleMessage, type RuleWork } from './rule/rule.ts';

export type ServiceState = ApprovalState | Rule | AccessToken | AuditLog;
export type ServiceMessage = ApprovalMessage | RuleMessage | TokenMessage | AuditMessage;
export type ServiceEvent = ApprovalEvent | RuleEvent | TokenEvent | AuditAnchored;
export type ServiceWork = ApprovalWork | RuleWork;
export type Accept = (routed: { readonly aggregate: string; readonly message: ServiceMessage }) => void;
export type ServiceDecider = Decider<ServiceState, ServiceMessage, ServiceEvent, ServiceWork>;

export type Sign = (claims: SignedClaims | AuditClaims) => string;

export const isApproval = (state: ServiceState): state is ApprovalState =>
  state.status !== 'rule' && state.status !== 'token' && state.status !== 'audit';

const ofKind = <Kind extends 'rule' | 'token' | 'audit'>(
  state: ServiceState,
  kind: Kind,
): Extract<ServiceState, { status: Kind }> | undefined => {
  if (state.status === kind) return state as Extract<ServiceState, { status: Kind }>;
  if (state.status !== 'absent') throw new Error(`a ${kind} id belongs to another aggregate`);
  return undefined;
};

const approvalIn = (state: ServiceState): ApprovalState => {
  if (!isApproval(state)) throw new Error('an approval id belongs to another aggregate');
  return state;
};

const evolve =
  (approvals: ReturnType<typeof createApprovalDecider>) =>
  (state: ServiceState, event: ServiceEvent): ServiceState => {
    switch (event.type) {
      case 'rule_added':
      case 'rule_used':
      case 'rule_revoked':
        return evolveRule(ofKind(state, 'rule'), event);
      case 'token_created':
      case 'token_revoked':
        return evolveToken(ofKind(state, 'token'), event);
      case 'audit_anchored':
        return evolveAudit(event);
      default:
        return approvals.evolve(approvalIn(state), event);
    }
  };

export const createServiceDecider = (
  sign: Sign,
  options: ApprovalOptions = {},
  approvals: ReturnType<typeof createApprovalDecider> = createApprovalDecider(sign, options),
): ServiceDecider => ({
  initial: { status: 'absent' },
  evolve: evolve(approvals),
  decide: (state, message, at): Decision<ServiceEvent, ServiceWork> => {
    switch (message.kind) {
      case 'add_rule':
      case 'use_rule':
      case 'revoke_rule':
        return decideRule(ofKind(state, 'rule'), message, at.now, options);
      case 'create_token':
      case 'revoke_token':
        return decideToken(ofKind(state, 'token'), message, at.now);
      case 'anchor':
        return decideAudit(ofKind(state, 'audit'), message, at.now, sign);
      case 'timer':
        // Only approvals set timers.
        return isApproval(state) ? approvals.decide(state, message, at) : decision({});
      default:
        return approvals.decide(approvalIn(state), message, at);
    }
  },
});
