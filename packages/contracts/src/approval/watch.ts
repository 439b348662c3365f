import { z } from 'zod';
import { ApprovalStatus } from './status.ts';
import { ApprovalView } from './views.ts';
import { DecideApproval } from './commands.ts';
import { ErrorBody } from '../values/errors.ts';
import { ApprovalId, RuleId } from '../values/ids.ts';

/** Where watchers connect by WebSocket, and the subprotocol that they may name. */
export const WATCH_PATH = '/api/v1/watch';
export const WATCH_PROTOCOL = 'holdpoint.v1';
/** A token may come as a subprotocol of its own behind this: pages cannot send headers. */
export const BEARER_PROTOCOL = 'bearer.';

/** Why the service has ended a connection. Whoever was only too slow, or is told that it stops, connects again and resumes. */
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

/** Of a line in the audit log. */
const Seq = z.int().min(0);
/** What the sender calls its message: the answer says it again. */
const Ref = z.string().min(1).max(100);

/** What a watcher says. */
export const WatchRequest = z.discriminatedUnion('type', [
  /** First of all, and within five seconds, unless the token came with the connection. */
  z.object({ type: z.literal('authenticate'), token: z.string().min(1).max(8_192) }),
  z.object({
    type: z.literal('subscribe'),
    /** The latest that was seen, to go on from there; now, when left out. */
    after: Seq.optional(),
    /** Also what is put to others: needs the scope `audit:read`. */
    all: z.boolean().optional(),
  }),
  z.object({ type: z.literal('approval.respond'), ref: Ref, ...DecideApproval.shape }),
  z.object({ type: z.literal('ping') }),
  z.object({ type: z.literal('pong') }),
]);
export type WatchRequest = z.infer<typeof WatchRequest>;

const told = {
  seq: Seq,
  /** When it happened. Epoch milliseconds. */
  at: z.int(),
  /** As it is by now. */
  approval: ApprovalView,
  /** Of this approval, while the watcher may decide on it. */
  token: z.uuid().optional(),
} as const;

/** What a watcher is told. */
export const WatchMessage = z.discriminatedUnion('type', [
  /** The token is good. Whoever lists approvals now and subscribes after `seq` misses nothing. */
  z.object({ type: z.literal('hello'), seq: Seq, name: z.string(), heartbeatMs: z.int() }),
  z.object({ type: z.literal('subscribed'), seq: Seq }),
  z.object({ type: z.literal('approval.requested'), ...told }),
  z.object({
    type: z.literal('approval.updated'),
    change: z.enum(['voted', 'escalated', 'reminded']),
    ...told,
  }),
  z.object({ type: z.literal('approval.resolved'), ...told }),
  /** To `approval.respond`: one of `ok` and `error`. */
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
  /** The store was set back: what was seen may not have happened. List again; what is told from now on follows `seq`. */
  z.object({ type: z.literal('reset'), seq: Seq }),
  /** With how far the watcher was told, whether or not anything of it was for him. */
  z.object({ type: z.literal('ping'), seq: Seq.optional() }),
  z.object({ type: z.literal('pong') }),
  z.object({ type: z.literal('error'), error: ErrorBody, ref: Ref.optional() }),
]);
export type WatchMessage = z.infer<typeof WatchMessage>;
