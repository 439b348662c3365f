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
  /** `pending` while others have to decide as well. */
  status: ApprovalStatus,
  by: z.string(),
  /** How many approvals it still takes. */
  approvalsMissing: z.int().optional(),
  /** The rule that was made with it. */
  remembered: RuleId.optional(),
});

/** The same decision on several approvals; with digests, only on what was shown. */
export const DecideMany = z.object({
  items: z
    .array(DecideApproval.pick({ id: true, digest: true }))
    .min(1)
    .max(200),
  decision: Verb,
  comment: DecideApproval.shape.comment,
});
export type DecideMany = z.infer<typeof DecideMany>;

/** Which approvals are listed, and in which order. */
export const ListApprovals = Page.extend({
  status: ApprovalStatus.default('pending'),
  /** Put to any of these; everybody's, when left out. */
  audience: z.array(z.string().min(1).max(200)).max(100).optional(),
  kind: SideEffectKind.optional(),
  risk: Risk.optional(),
  task: TaskId.optional(),
  requester: z.string().max(200).optional(),
  /** Words in title, target, capability or task. */
  search: z.string().max(200).optional(),
  /**
   * `oldest` first, `expiring` first, or by `risk`, the highest first. Of what is decided, the oldest, or with `newest` the
   * newest; that is no order of what waits.
   */
  order: z.enum(['oldest', 'expiring', 'risk', 'newest']).default('oldest'),
});
export type ListApprovals = z.infer<typeof ListApprovals>;

/** An approval with what only a look at others tells. */
export const ApprovalDetail = ApprovalView.extend({
  /** What was asked before by the same node, and what of it is different by now: a unified diff. */
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

/** What `checkApproval` is asked about. */
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
