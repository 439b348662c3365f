import { z } from 'zod';
import { ApprovalId, RuleId, TaskId } from '../values/ids.ts';
import { JsonObject } from '../values/json.ts';
import { Page } from '../values/page.ts';
import { Verb } from '../workflow/approval-policy.ts';
import { CapabilityLabel, SideEffectKind } from '../workflow/workflow.ts';
import { DecideApproval } from './commands.ts';
import { ApprovalStatus } from './status.ts';
import { ApprovalView, Risk } from './views.ts';

export const DecisionResult = z.object({
  id: ApprovalId,
  /** `pending` while further votes are needed. */
  status: ApprovalStatus,
  by: z.string(),
  /** Number of approvals still needed. */
  approvalsMissing: z.int().optional(),
  /** The standing rule that was created with the decision. */
  remembered: RuleId.optional(),
});

/** One decision for several approvals. With digests it applies only to the versions that the decider saw. */
export const DecideMany = z.object({
  items: z
    .array(DecideApproval.pick({ id: true, digest: true }))
    .min(1)
    .max(200),
  decision: Verb,
  comment: DecideApproval.shape.comment,
});
export type DecideMany = z.infer<typeof DecideMany>;

/** Filters and order of the list of approvals. */
export const ListApprovals = Page.extend({
  /** `decided` stands for every status but `pending`. */
  status: z.enum([...ApprovalStatus.options, 'decided']).default('pending'),
  /** Approvals for any of these; default: for everybody. */
  audience: z.array(z.string().min(1).max(200)).max(100).optional(),
  kind: SideEffectKind.optional(),
  risk: Risk.optional(),
  task: TaskId.optional(),
  requester: z.string().max(200).optional(),
  /** Words in title, target, capability or task. */
  search: z.string().max(200).optional(),
  /**
   * `oldest` first, `expiring` first, or highest `risk` first. Decided approvals are listed oldest or
   * `newest` first; `newest` is not valid for pending ones.
   */
  order: z.enum(['oldest', 'expiring', 'risk', 'newest']).default('oldest'),
});
export type ListApprovals = z.infer<typeof ListApprovals>;

/** An approval with details that need further lookups. */
export const ApprovalDetail = ApprovalView.extend({
  /** The node's previous request, and a unified diff from it to this one. */
  previous: z
    .object({
      id: ApprovalId,
      status: ApprovalStatus,
      comment: z.string().optional(),
      changes: z.string().max(200_000),
    })
    .optional(),
});
export type ApprovalDetail = z.infer<typeof ApprovalDetail>;

/** Input of `checkApproval`. */
export const CheckApproval = z.object({
  kind: SideEffectKind,
  uses: CapabilityLabel,
  target: z.string().min(1).max(2_000),
  args: JsonObject,
  requestedBy: z.string().min(1).max(200),
  workflow: z.string().max(200).optional(),
  audience: z.array(z.string()).min(1).optional(),
});
export type CheckApproval = z.infer<typeof CheckApproval>;
