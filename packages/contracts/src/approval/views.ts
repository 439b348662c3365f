import { z } from 'zod';
import type { CanonicalEffect } from '../effect/canonical-effect.ts';
import { AgentName } from '../values/agent.ts';
import { RuleId } from '../values/ids.ts';
import { Json } from '../values/json.ts';
import { Answer, RequestApproval } from './commands.ts';
import { ApprovalStatus, Surface, Vote } from './status.ts';

/** Epoch milliseconds, by the database's clock. */
const Time = z.int();

/** `high`: what it does cannot simply be undone, or changes what is in use. */
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
  /** The agent that has decided for him. */
  decidedByAgent: AgentName.optional(),
  decidedAt: Time.optional(),
  comment: z.string().optional(),
  answer: Answer.optional(),
  response: Json.optional(),
  /** How much harm it could do, from its kind and class. */
  risk: Risk.optional(),
  /** Who has decided so far, where more than one has to. */
  votes: z.array(Vote).optional(),
  surface: Surface.optional(),
  rule: RuleId.optional(),
  remembered: RuleId.optional(),
  /** What became of the effect last, as it was reported. */
  outcome: z.string().optional(),
});
export type ApprovalView = z.infer<typeof ApprovalView>;
