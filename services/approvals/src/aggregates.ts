import type { TokenEvent } from '@holdpoint/contracts/approval/access-token';
import type { CapabilityEvent } from '@holdpoint/contracts/approval/capability';
import type { EnrolmentEvent } from '@holdpoint/contracts/approval/enrolment';
import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import type { PeopleEvent } from '@holdpoint/contracts/approval/people';
import type { RuleEvent } from '@holdpoint/contracts/approval/standing-rule';
import type { AuditAnchored, AuditClaims } from '@holdpoint/contracts/audit/audit';
import type { CallbackEvent } from '@holdpoint/contracts/webhook/callback';
import type { SignedClaims } from '@holdpoint/contracts/effect/grant';
import { type Accept as AcceptOf, SNAPSHOT_EVERY, snapshotEvery } from '@holdpoint/runtime/engine/core';
import type { Addressed, KindsOf } from '@holdpoint/runtime/engine/kinds';
import type { Lane } from '@holdpoint/runtime/host/lanes';
import { type ApprovalDecider, type ApprovalOptions, createApprovalDecider } from './approval/decide.ts';
import type { ApprovalMessage, ApprovalState, ApprovalWork } from './approval/state.ts';
import { type AuditMessage, createAuditDecider } from './audit/audit-log.ts';
import { type CallbackMessage, type CallbackWork, createCallbackDecider } from './callback/callback.ts';
import { capabilityDecider, type CapabilityMessage } from './capability/capability.ts';
import { enrolmentDecider, type EnrolmentMessage } from './executor/enrolment.ts';
import { peopleDecider, type PeopleMessage } from './people/people.ts';
import { approvalListing } from './queries/inbox.ts';
import {
  approvalSummary,
  auditSummary,
  callbackSummary,
  capabilitySummary,
  executorSummary,
  peopleSummary,
  ruleSummary,
  tokenSummary,
} from './queries/summary.ts';
import { createRuleDecider, type RuleMessage, type RuleWork } from './rule/decide.ts';
import { tokenDecider, type TokenMessage } from './token/access-token.ts';

/** A message to an aggregate of this service. */
export type ServiceMessage =
  | Addressed<'approval', ApprovalMessage>
  | Addressed<'rule', RuleMessage>
  | Addressed<'token', TokenMessage>
  | Addressed<'people', PeopleMessage>
  | Addressed<'executor', EnrolmentMessage>
  | Addressed<'capability', CapabilityMessage>
  | Addressed<'callback', CallbackMessage>
  | Addressed<'audit', AuditMessage>;
export type ServiceEvent =
  | ApprovalEvent
  | RuleEvent
  | TokenEvent
  | PeopleEvent
  | EnrolmentEvent
  | CapabilityEvent
  | CallbackEvent
  | AuditAnchored;
export type ServiceWork = ApprovalWork | RuleWork | CallbackWork;
export type ServiceKinds = KindsOf<ServiceMessage, ServiceEvent, ServiceWork>;
/** Hands a message to the engine. */
export type Accept = AcceptOf<ServiceMessage>;

/** Signs the statements of the service. */
export type Sign = (claims: SignedClaims | AuditClaims) => string;

const taskOf = (state: ApprovalState): string | undefined => {
  if (state.status === 'pending' || state.status === 'closed') return state.request.task;
  return state.status === 'withdrawn' ? state.about.task : undefined;
};

/** Decisions go before requests. The outcome of an effect is recorded for the log, and nothing waits for it. */
const laneOf = ({ kind }: { readonly kind: string }): Lane => {
  if (kind === 'outcome') return 'lazy';
  return kind === 'request' ? 'next' : 'first';
};

const common = { publishedAs: 'approval', snapshotDue: snapshotEvery(SNAPSHOT_EVERY) } as const;

/** The kinds of aggregates of this service. */
export const createKinds = (
  sign: Sign,
  options: ApprovalOptions = {},
  approvals: ApprovalDecider = createApprovalDecider(sign, options),
) =>
  ({
    approval: {
      ...common,
      decider: approvals,
      summarise: approvalSummary,
      listing: approvalListing,
      taskOf: (_id: string, state: ApprovalState) => taskOf(state),
      creates: ({ kind }) => kind === 'request',
      laneOf,
      isOver: ({ status }: ApprovalState) => status === 'closed' || status === 'withdrawn',
    },
    rule: { ...common, decider: createRuleDecider(options), summarise: ruleSummary },
    token: { ...common, decider: tokenDecider, summarise: tokenSummary },
    people: { ...common, decider: peopleDecider, summarise: peopleSummary },
    executor: { ...common, decider: enrolmentDecider, summarise: executorSummary },
    capability: { ...common, decider: capabilityDecider, summarise: capabilitySummary },
    callback: { ...common, decider: createCallbackDecider(options), summarise: callbackSummary },
    audit: { ...common, decider: createAuditDecider(sign), summarise: auditSummary },
  }) satisfies ServiceKinds;
