import { z } from 'zod';
import { AgentName } from '../values/agent.ts';
import { Verb } from '../workflow/approval-policy.ts';

export const ApprovalOutcome = z.enum([
  'approved',
  'rejected',
  'changes_requested',
  'answered',
  'expired',
  'cancelled',
]);
export type ApprovalOutcome = z.infer<typeof ApprovalOutcome>;
export const ApprovalStatus = z.enum(['pending', ...ApprovalOutcome.options]);
export type ApprovalStatus = z.infer<typeof ApprovalStatus>;

/** Where a decision was made. */
export const Surface = z.enum([
  'api',
  'cli',
  'http',
  'web',
  'websocket',
  'discord',
  'webhook',
  'rule',
  'policy',
  'clock',
]);
export type Surface = z.infer<typeof Surface>;

/** Epoch milliseconds, by the database's clock. */
const Time = z.int();

/** The vote of one person, when several are needed. */
export const Vote = z.object({
  by: z.string(),
  decision: Verb,
  comment: z.string().optional(),
  surface: Surface.optional(),
  /** The agent that voted on behalf of the person. */
  agent: AgentName.optional(),
  at: Time,
});
export type Vote = z.infer<typeof Vote>;
/** Occasions of a notice. */
export const Notice = z.enum(['requested', 'reminded', 'escalated', 'resolved']);
export type Notice = z.infer<typeof Notice>;
