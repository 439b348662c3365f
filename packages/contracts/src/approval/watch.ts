import { z } from 'zod';
import { ApprovalStatus } from './status.ts';
import { ApprovalView } from './views.ts';
import { DecideApproval } from './commands.ts';
import { ErrorBody } from '../values/errors.ts';
import { ApprovalId, RuleId } from '../values/ids.ts';

/** Path and subprotocol of the WebSocket. */
export const WATCH_PATH = '/api/v1/watch';
export const WATCH_PROTOCOL = 'holdpoint.v1';
/** Prefix of a subprotocol that carries the token: pages cannot send headers. */
export const BEARER_PROTOCOL = 'bearer.';

/** Close codes. After `stopping` and `slow`, clients reconnect and resume. */
export const WATCH_CLOSED = {
  stopping: 1001,
  tooLarge: 1009,
  unavailable: 1013,
  badMessages: 4400,
  unauthenticated: 4401,
  forbidden: 4403,
  slow: 4408,
  tooMany: 4429,
} as const;

/** Line number in the audit log. */
const Seq = z.int().min(0);
/** The sender's id of the message, repeated in the answer. */
const Ref = z.string().min(1).max(100);

/** Messages from a client. */
export const WatchRequest = z.discriminatedUnion('type', [
  /** First message, within five seconds, unless the connection carried the token. */
  z.object({ type: z.literal('authenticate'), token: z.string().min(1).max(8_192) }),
  z.object({
    type: z.literal('subscribe'),
    /** Last line that the client saw; default: now. */
    after: Seq.optional(),
    /** Includes requests to other approvers; needs the scope `audit:read`. */
    all: z.boolean().optional(),
  }),
  z.object({ type: z.literal('approval.respond'), ref: Ref, ...DecideApproval.shape }),
  z.object({ type: z.literal('ping') }),
  z.object({ type: z.literal('pong') }),
]);
export type WatchRequest = z.infer<typeof WatchRequest>;

const told = {
  seq: Seq,
  /** Time of the event. Epoch milliseconds. */
  at: z.int(),
  /** Current state of the approval. */
  approval: ApprovalView,
  /** Token of this approval, while the client may decide on it. */
  token: z.uuid().optional(),
} as const;

/** Messages to a client. */
export const WatchMessage = z.discriminatedUnion('type', [
  /** The token is valid. A client that lists approvals now and subscribes after `seq` misses nothing. */
  z.object({ type: z.literal('hello'), seq: Seq, name: z.string(), heartbeatMs: z.int() }),
  z.object({ type: z.literal('subscribed'), seq: Seq }),
  z.object({ type: z.literal('approval.requested'), ...told }),
  z.object({
    type: z.literal('approval.updated'),
    change: z.enum(['voted', 'escalated', 'reminded']),
    ...told,
  }),
  z.object({ type: z.literal('approval.resolved'), ...told }),
  /** Answer to `approval.respond`: one of `ok` and `error`. */
  z.object({
    type: z.literal('approval.responded'),
    ref: Ref,
    ok: z
      .object({
        id: ApprovalId,
        status: ApprovalStatus,
        by: z.string(),
        approvalsMissing: z.int().optional(),
        remembered: RuleId.optional(),
      })
      .optional(),
    error: ErrorBody.optional(),
  }),
  /**
   * The store was restored from an older state: earlier messages may be void. List again and continue
   * after `seq`.
   */
  z.object({ type: z.literal('reset'), seq: Seq }),
  /** Position of the connection in the log, including lines that were not sent to it. */
  z.object({ type: z.literal('ping'), seq: Seq.optional() }),
  z.object({ type: z.literal('pong') }),
  z.object({ type: z.literal('error'), error: ErrorBody, ref: Ref.optional() }),
]);
export type WatchMessage = z.infer<typeof WatchMessage>;
