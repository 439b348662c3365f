import { z } from 'zod';
import type { CanonicalEffect } from '../effect/canonical-effect.ts';
import { AgentName } from '../values/agent.ts';
import { RuleId } from '../values/ids.ts';
import { Json } from '../values/json.ts';
import { Answer, RequestApproval } from './commands.ts';
import { ApprovalStatus, Surface, Vote } from './status.ts';

/** Epoch milliseconds, by the database's clock. */
const Time = z.int();

/** `high`: the effect cannot easily be undone, or changes a running system. */
export const Risk = z.enum(['low', 'medium', 'high']);
export type Risk = z.infer<typeof Risk>;

export const riskOf = ({ kind, effectClass }: Pick<CanonicalEffect, 'kind' | 'effectClass'>): Risk => {
  if (kind === 'deploy' || kind === 'merge' || kind === 'destructive_edit') return 'high';
  if (kind === 'write_external') return effectClass === 'opaque' ? 'high' : 'medium';
  return effectClass === 'opaque' ? 'medium' : 'low';
};

/** One approval as the API shows it. */
export const ApprovalView = z.object({
  ...RequestApproval.shape,
  status: ApprovalStatus,
  requestedAt: Time,
  expiresAt: Time,
  decidedBy: z.string().optional(),
  /** The agent that decided on behalf of the person. */
  decidedByAgent: AgentName.optional(),
  decidedAt: Time.optional(),
  comment: z.string().optional(),
  answer: Answer.optional(),
  response: Json.optional(),
  /** Possible harm, derived from kind and class. */
  risk: Risk.optional(),
  /** Votes so far, when several are needed. */
  votes: z.array(Vote).optional(),
  surface: Surface.optional(),
  rule: RuleId.optional(),
  remembered: RuleId.optional(),
  /** Last reported outcome of the effect. */
  outcome: z.string().optional(),
});
export type ApprovalView = z.infer<typeof ApprovalView>;
