import { Audience } from '@holdpoint/contracts/workflow/audience';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { TaskId } from '@holdpoint/contracts/values/ids';
import { JsonObject } from '@holdpoint/contracts/values/json';
import { CapabilityLabel, Pool, SideEffectKind, WAIT_MAX_MS } from '@holdpoint/contracts/workflow/workflow';
import { z } from 'zod';
import type { RequestedEffect } from '../effect/effect-workflow.ts';
import { AttemptId } from './documents.ts';

/** Input of `task_request_approval`. */
export const ApprovalInput = {
  task_id: TaskId.optional().describe(
    'with attempt_id the running task; else the ID of the new task: the same ID again returns the same task',
  ),
  attempt_id: AttemptId.optional().describe('<node>/<attempt> of the running task that asks'),
  requested_action: z
    .string()
    .trim()
    .min(1)
    .max(10_000)
    .optional()
    .describe('the action, shown to approvers'),
  requested_by: z.string().max(200).optional().describe('ignored: the token proves the requester'),
  side_effect_kind: SideEffectKind.optional().describe(
    'kind of effect: may only raise the one that follows from capability and arguments',
  ),
  idempotency_key: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('key of the effect: the same key of the same attempt asks once'),
  rollback_hint: z.string().max(10_000).optional().describe('how to undo the effect'),
  status: z.literal('pending').optional().describe('a request is pending until people decide'),
  goal: z.string().trim().min(1).max(10_000).optional().describe('purpose, shown to the approvers'),
  uses: CapabilityLabel.optional().describe(
    'capability, such as cap.file.append; without it, the effect of the step that waits at its gate',
  ),
  args: JsonObject.optional().describe('arguments, used exactly as given'),
  target: z
    .string()
    .min(1)
    .max(512)
    .optional()
    .describe('target; where the arguments name one, that one counts'),
  audience: Audience.optional().describe(
    'groups that may decide, within the policy floor (default: its audience)',
  ),
  quorum: z
    .int()
    .min(1)
    .max(20)
    .optional()
    .describe('number of different approvers; the policy floor may demand more'),
  fourEyes: z.boolean().optional().describe('the requester and the owner of the agent may not decide'),
  timeoutMs: z
    .int()
    .min(1_000)
    .max(WAIT_MAX_MS)
    .optional()
    .describe(
      'time limit for the decision, in milliseconds; the effect fails then (default: seven days, then a person decides)',
    ),
  pool: Pool.optional().describe('executor pool'),
} as const;

const ApprovalRequest = z.object(ApprovalInput);
export type ApprovalRequest = z.infer<typeof ApprovalRequest>;

/** A complete effect. */
export type AgentEffect = Omit<ApprovalRequest, 'goal' | 'uses' | 'args' | 'target'> &
  Pick<RequestedEffect, 'uses' | 'args' | 'target'> & { readonly goal: string };

/** The effect of a request. `goal` is that of the running task. Throws `CONTRACT_INVALID`. */
export const effectOf = (request: ApprovalRequest, goal: string | undefined): AgentEffect => {
  const { uses, args, target } = request;
  const purpose = request.goal ?? request.requested_action ?? goal;
  if (uses === undefined || args === undefined || target === undefined || purpose === undefined)
    throw new HoldpointError(
      'CONTRACT_INVALID',
      'a new effect needs uses, args, target, and goal or requested_action',
    );
  return { ...request, uses, args, target, goal: purpose.slice(0, GOAL_MAX).toWellFormed() };
};

const GOAL_MAX = 10_000;
