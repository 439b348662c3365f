import { z } from 'zod';
import { AccessTokenView, CreateAccessToken, Scope } from '../approval/access-token.ts';
import { CapabilityDefinition, RegisteredCapability } from '../approval/capability.ts';
import { DecideApproval } from '../approval/commands.ts';
import { IssuedIdentity } from '../approval/identity.ts';
import {
  ApprovalDetail,
  CheckApproval,
  DecisionResult,
  DecideMany,
  ListApprovals,
} from '../approval/queries.ts';
import { AddPerson, ChangePerson, PersonView, RemovePerson } from '../approval/people.ts';
import { ExecutorKeyView, JoinExecutor } from '../approval/enrolment.ts';
import { PolicyImpacts, PolicyView, TestPolicy } from '../approval/policy-floor.ts';
import { KeysNonce, PublishedKeys } from '../approval/signing-keys.ts';
import { RuleMatch, RuleSpec, RuleView } from '../approval/standing-rule.ts';
import { ApprovalStatus } from '../approval/status.ts';
import { ApprovalView } from '../approval/views.ts';
import { AuditLine } from '../audit/audit.ts';
import { CallbackView } from '../effect/hold.ts';
import { RemoteName } from '../effect/remote-name.ts';
import { ErrorBody } from '../values/errors.ts';
import { AccessTokenId, ApprovalId, ExecutorKeyId, RuleId, TaskId } from '../values/ids.ts';
import { Page, pageOf } from '../values/page.ts';
import { adminEndpoints, deadLetterEndpoints, endpoint } from './endpoint.ts';

/** Endpoints of the approvals service. */
export const approvalsApi = {
  ...adminEndpoints,
  ...deadLetterEndpoints,
  decide: endpoint(
    'Decide on an approval; needs the header `authorization: Bearer <token>`',
    DecideApproval,
    DecisionResult,
  ),
  decide_many: endpoint(
    'Apply one decision to several approvals, each independently; needs the header',
    DecideMany,
    z.object({
      items: z.array(
        z.union([
          z.object({ id: ApprovalId, decided: DecisionResult }),
          z.object({ id: ApprovalId, error: ErrorBody }),
        ]),
      ),
    }),
  ),
  get: endpoint('One approval with the exact effect', z.object({ id: ApprovalId }), ApprovalDetail),
  list: endpoint(
    'Approvals in the requested order; decided ones oldest or newest first. A page may be incomplete: continue with `next`',
    ListApprovals,
    pageOf(ApprovalView),
  ),
  whoami: endpoint(
    'Owner and scopes of the token; needs the header',
    z.object({}),
    z.object({
      name: z.string(),
      groups: z.array(z.string()),
      roles: z.array(z.string()),
      scopes: z.array(Scope),
      administrator: z.boolean(),
      /** The token belongs to this agent of the named principal. */
      agent: z.string().optional(),
    }),
  ),
  identify: endpoint(
    'Exchange the token for an identity assertion of 5 minutes, for submissions and commands; needs the header',
    z.object({}),
    IssuedIdentity,
  ),
  check: endpoint(
    'Whether a standing rule would approve an effect (checkApproval)',
    CheckApproval,
    z.object({ approved: z.boolean(), rule: RuleView.optional() }),
  ),
  rule_add: endpoint('Add a standing rule (persistRule); needs the header', RuleSpec, RuleView),
  rule_revoke: endpoint(
    'Revoke a standing rule; needs the header',
    z.object({ id: RuleId, reason: z.string().max(1_000).optional() }),
    RuleView,
  ),
  rule_list: endpoint(
    'Standing rules, oldest first',
    Page.extend({ status: RuleView.shape.status.optional() }),
    pageOf(RuleView),
  ),
  rule_test: endpoint(
    'The latest requests that a rule would have decided',
    z.object({ match: RuleMatch, last: z.int().min(1).max(5_000).default(1_000) }),
    z.object({
      /** Number of examined requests. */
      examined: z.int(),
      items: z.array(
        z.object({
          id: ApprovalId,
          title: z.string(),
          status: ApprovalStatus,
          decidedBy: z.string().optional(),
          requestedAt: z.int(),
        }),
      ),
    }),
  ),
  token_create: endpoint('Create an API token; needs the header', CreateAccessToken, AccessTokenView),
  policy_get: endpoint('The policy floor in force', z.object({}), PolicyView),
  policy_test: endpoint(
    'Requests of the latest days that a policy floor would have changed, latest first; needs the header. A page may be incomplete: continue with `next`',
    TestPolicy,
    PolicyImpacts,
  ),
  token_revoke: endpoint(
    'Revoke an API token; needs the header',
    z.object({ id: AccessTokenId }),
    AccessTokenView,
  ),
  token_list: endpoint('API tokens, oldest first; needs the header', Page, pageOf(AccessTokenView)),
  person_list: endpoint(
    'People, by name; only yourself unless you are an administrator; needs the header',
    z.object({}),
    z.object({ items: z.array(PersonView) }),
  ),
  person_add: endpoint(
    'Add a person who may receive tokens; administrators only; needs the header',
    AddPerson,
    PersonView,
  ),
  person_change: endpoint(
    'Replace the groups or the display name of a person; administrators only; needs the header',
    ChangePerson,
    PersonView,
  ),
  capability_register: endpoint(
    'Register a remote capability, or its next definition; needs the header',
    CapabilityDefinition,
    RegisteredCapability,
  ),
  capability_withdraw: endpoint(
    'Withdraw a remote capability: further requests for its effects are refused; needs the header',
    z.object({ name: RemoteName }),
    RegisteredCapability,
  ),
  capability_list: endpoint(
    'Registered remote capabilities by name; one with `name`',
    Page.extend({ name: RemoteName.optional(), after: RemoteName.optional() }),
    pageOf(RegisteredCapability),
  ),
  person_remove: endpoint(
    'Remove a person and revoke their tokens and rules; administrators only; needs the header',
    RemovePerson,
    PersonView,
  ),
  callbacks: endpoint(
    'Callbacks of a held effect, oldest first, with the attempts of their delivery',
    z.object({
      task: TaskId,
      /** Version of the task: an earlier callback is that of an earlier version. */
      version: z.int().min(1),
    }),
    z.object({ items: z.array(CallbackView) }),
  ),
  audit: endpoint(
    'Lines of the audit log, in order; needs the header',
    z.object({
      /** Lines after this one. */
      after: z.int().min(0).default(0),
      limit: z.int().min(1).max(1_000).default(500),
      /** Only lines of this approval, rule or token: they form no unbroken chain. */
      about: z.string().max(64).optional(),
    }),
    z.object({
      items: z.array(AuditLine),
      /** Later lines exist. */
      more: z.boolean(),
    }),
  ),
  keys: endpoint(
    'Public keys of the service, and a statement about them by each key',
    z.object({ nonce: KeysNonce.optional() }),
    PublishedKeys,
  ),
  executor_join: endpoint(
    'Enrol the key of an executor; needs the join secret',
    JoinExecutor,
    ExecutorKeyView,
  ),
  executor_list: endpoint(
    'Keys of executors, the latest first; revoked keys come last',
    z.object({}),
    z.object({ items: z.array(ExecutorKeyView) }),
  ),
  executor_revoke: endpoint(
    'Revoke the key of an executor; needs the header',
    z.object({ id: ExecutorKeyId, reason: z.string().max(1_000).optional() }),
    ExecutorKeyView,
  ),
  executor_forget: endpoint(
    'Record in the audit log who declares the journal of an executor lost; needs the header',
    z.object({ id: ExecutorKeyId, reason: z.string().min(1).max(1_000) }),
    ExecutorKeyView,
  ),
} as const;
