import { z } from 'zod';
import { Risk, riskOf } from '../effect/describe.ts';
import { AgentName } from '../values/agent.ts';
import { RuleId } from '../values/ids.ts';
import { Json } from '../values/json.ts';
import { Answer, RequestApproval } from './commands.ts';
import { RequestFloor } from './policy-floor.ts';
import { ApprovalStatus, Surface, Vote } from './status.ts';

/** Epoch milliseconds, by the database's clock. */
const Time = z.int();

export { Risk, riskOf };

/** One approval as the API shows it. */
export const ApprovalView = z.object({
  ...RequestApproval.shape,
  /** The policy floor and its changes. The other fields are in force. */
  floor: RequestFloor.optional(),
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
  /** Description of the remote capability, as it is registered. */
  description: z.string().optional(),
  /** Possible harm, derived from kind and class; a remote capability can raise it. */
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
