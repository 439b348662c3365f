import { z } from 'zod';
import { ApprovalId, EffectId, TaskId } from '../values/ids.ts';
import { ErrorBody } from '../values/errors.ts';
import { JsonObject } from '../values/json.ts';
import { AudienceMember } from '../workflow/audience.ts';
import { Pool } from '../workflow/workflow.ts';
import { EffectClass, SideEffectKind, WAIT_MAX_MS } from '../workflow/side-effect.ts';
import { HttpUrl } from './http-request.ts';
import { RemoteName } from './remote-name.ts';

/** The workflow of one effect without a workflow of its own, and the node of that effect. */
export const HELD_WORKFLOW = 'effect';
export const HELD_NODE = 'effect';

/** Where a signed webhook reports the end of a held effect. Put no secret into the URL: people see it. */
export const Callback = z.strictObject({ url: HttpUrl });
export type Callback = z.infer<typeof Callback>;

/**
 * Holds one effect of a remote capability until an approver decides. The same key of a capability is the same effect: a repeat
 * finds it, and other arguments are refused with `ORCHESTRATOR_TASK_CONFLICT`.
 */
export const HoldEffect = z.object({
  capability: RemoteName,
  args: JsonObject,
  /** Identifies the effect, such as `refund:ch_1`. */
  key: z.string().min(1).max(256),
  /** Why it is requested, for approvers. */
  reason: z.string().trim().min(1).max(10_000).optional(),
  /** Default: the audience of the policy. */
  audience: z.array(AudienceMember).max(50).optional(),
  /** Time for the decision; default seven days. Milliseconds. */
  approvalTimeoutMs: z.int().min(1_000).max(WAIT_MAX_MS).optional(),
  pool: Pool.optional(),
  /** Gets a signed webhook when the effect has ended or is in doubt. Its origin must be among `HOLDPOINT_NOTIFY_TARGETS`. */
  callback: Callback.optional(),
});
export type HoldEffect = z.infer<typeof HoldEffect>;

/**
 * Inputs of the workflow of one effect. Class, kind and target are those of the registered capability: approvals refuses a request
 * with others.
 */
export const HeldInputs = z.strictObject({
  ...HoldEffect.omit({ reason: true }).shape,
  kind: SideEffectKind,
  class: EffectClass,
  target: z.string().min(1).max(512),
  previews: z.boolean().optional(),
});

/** `in_doubt`: it is unknown whether the effect happened, and a person has to tell. The last four are final. */
export const HeldState = z.enum([
  'requested',
  'waiting',
  'approved',
  'running',
  'in_doubt',
  'applied',
  'failed',
  'rejected',
  'cancelled',
]);
export type HeldState = z.infer<typeof HeldState>;

/** A held effect and its state. */
export const HeldEffect = z.object({
  /** Id of its task. */
  id: TaskId,
  /** Its entry in the ledger, once it was requested: a preview is part of its id. */
  effect: EffectId.optional(),
  capability: RemoteName,
  key: z.string(),
  state: HeldState,
  /** The request, once there is one. */
  approval: ApprovalId.optional(),
  /** Who decided, and the comment. */
  by: z.string().optional(),
  comment: z.string().optional(),
  outputs: JsonObject.optional(),
  error: ErrorBody.optional(),
});
export type HeldEffect = z.infer<typeof HeldEffect>;

/** The delivery of one signed webhook about a held effect. */
export const CallbackView = z.object({
  /** Type of the webhook, such as `effect.applied`. */
  event: z.string(),
  /** `waiting`: a further attempt follows. `failed`: approvals has given up. */
  state: z.enum(['waiting', 'delivered', 'failed']),
  /** Attempts that have ended. */
  tries: z.int().min(0),
  /** The latest change. Epoch milliseconds. */
  at: z.int(),
  /** Why the latest attempt failed. */
  problem: z.string().optional(),
});
export type CallbackView = z.infer<typeof CallbackView>;

/** A held effect as the API answers it, with its callback. */
export const HeldAnswer = HeldEffect.extend({
  callback: z
    .object({
      /** The rest of the URL may be long. */
      origin: z.string(),
      /** Oldest first; a doubt and the end after it are two. */
      items: z.array(CallbackView),
    })
    .optional(),
});
export type HeldAnswer = z.infer<typeof HeldAnswer>;
