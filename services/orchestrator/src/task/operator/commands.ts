import { errorBody } from '@holdpoint/contracts/values/errors';
import type { CommandId, NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { Answer, Decision } from '@holdpoint/runtime/decider';
import { grantResume } from '../model/checkpoints.ts';
import type { Draft } from '../model/decision-builder.ts';
import { endNode, endTask, type NodeEnd } from '../graph/ending.ts';
import { isTerminal } from '../model/phases.ts';
import { rewind, rewoundBy } from '../graph/rewind.ts';
import { settle } from '../graph/advance.ts';
import { tryOnceMore } from '../replies/stuck-job.ts';
import { touchOpen } from '../model/touch.ts';
import { findNode, hasEnded, nodeState, type NodeStatus } from '../model/state.ts';

type Said = {
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
  readonly node?: NodeId | undefined;
};

const illegal = (draft: Draft, verb: string, hint = ''): Answer => {
  const { id, phase } = draft.task();
  return {
    error: errorBody('ORCHESTRATOR_ILLEGAL_IN_PHASE', `task ${id} is ${phase}: it cannot be ${verb}${hint}`, {
      phase,
    }),
  };
};

const illegalNode = (draft: Draft, node: NodeId, verb: string): Answer => {
  const { id, phase } = draft.task();
  const { status } = nodeState(draft.task(), node);
  const message = `job ${id}/${node} is ${status}: it cannot be ${verb}`;
  return { error: errorBody('ORCHESTRATOR_ILLEGAL_IN_PHASE', message, { phase, status }) };
};

/** A node that the task does not have is refused before anything else is looked at. */
const unknownNode = (draft: Draft, node: NodeId | undefined): Answer | undefined => {
  if (node === undefined || findNode(draft.task(), node) !== undefined) return undefined;
  return { error: errorBody('ORCHESTRATOR_UNKNOWN_NODE', `task ${draft.task().id} has no node ${node}`) };
};

export const cancel = (
  draft: Draft,
  {
    by = 'unknown',
    reason = 'cancelled by hand',
    node,
    ifOpen = false,
  }: Said & { readonly ifOpen?: boolean | undefined },
  command: CommandId,
): Decision<TaskEvent> => {
  if (ifOpen && isTerminal(draft.task().phase)) return draft.done();
  const unknown = unknownNode(draft, node);
  if (unknown !== undefined) return draft.done(unknown);
  if (node !== undefined) return cancelNode(draft, node, `${reason} (${by})`, command);
  if (draft.task().phase === 'cancelled') return draft.done();
  if (isTerminal(draft.task().phase)) return draft.done(illegal(draft, 'cancelled'));
  endTask(draft, { type: 'cancelled', by, reason });
  return draft.done();
};

const cancelNode = (draft: Draft, node: NodeId, reason: string, command: CommandId): Decision<TaskEvent> => {
  const { status, attempt } = nodeState(draft.task(), node);
  if (status === 'cancelled') return draft.done();
  if (isTerminal(draft.task().phase) || hasEnded(nodeState(draft.task(), node)))
    return draft.done(illegalNode(draft, node, 'cancelled'));
  const error = errorBody('NODE_CANCELLED', reason);
  endNode(draft, { type: 'node_ended', node, attempt, outcome: 'cancelled', error, command });
  settle(draft);
  return draft.done();
};

/** Nothing new is started; what runs or waits for a decision goes on, and its outcome is kept. */
export const pause = (
  draft: Draft,
  { by = 'unknown', reason = 'paused by hand', node }: Said,
  command: CommandId,
): Decision<TaskEvent> => {
  const unknown = unknownNode(draft, node);
  if (unknown !== undefined) return draft.done(unknown);
  if (isTerminal(draft.task().phase)) return draft.done(illegal(draft, 'paused'));
  if (node !== undefined) {
    const state = nodeState(draft.task(), node);
    if (state.paused === true) return draft.done();
    if (hasEnded(state)) return draft.done(illegalNode(draft, node, 'paused'));
    draft.emit({ type: 'node_paused', node, by, reason, command });
    return draft.done();
  }
  if (draft.task().pausedByHand) return draft.done();
  draft.emit({ type: 'paused', by, reason, command });
  return draft.done();
};

export const resume = (
  draft: Draft,
  { by = 'unknown', node }: Said,
  command: CommandId,
): Decision<TaskEvent> => {
  const unknown = unknownNode(draft, node);
  if (unknown !== undefined) return draft.done(unknown);
  if (isTerminal(draft.task().phase)) return draft.done(illegal(draft, 'resumed'));
  if (node !== undefined) {
    if (nodeState(draft.task(), node).paused !== true) return draft.done();
    draft.emit({ type: 'node_resumed', node, by, command });
    draft.touch([node]);
    settle(draft);
    return draft.done();
  }
  if (!draft.task().pausedByHand) {
    // Waiting for a person after an escalation is not a pause that can be lifted: somebody has to say what to do.
    return draft.task().phase === 'paused'
      ? draft.done(illegal(draft, 'resumed', '; retry or cancel it'))
      : draft.done();
  }
  draft.emit({ type: 'resumed', by, command });
  touchOpen(draft);
  settle(draft);
  return draft.done();
};

/** Somebody says how a node that has not succeeded is to count: what follows it goes on. */
const passOver = (
  draft: Draft,
  { node, by = 'unknown' }: Said & { readonly node: NodeId },
  command: CommandId,
  { verb, status, end }: { readonly verb: string; readonly status: NodeStatus; readonly end: NodeEndByHand },
): Decision<TaskEvent> => {
  const unknown = unknownNode(draft, node);
  if (unknown !== undefined) return draft.done(unknown);
  const { status: now } = nodeState(draft.task(), node);
  if (now === status) return draft.done();
  const { phase } = draft.task();
  if ((isTerminal(phase) && phase !== 'failed') || !MAY_BE_PASSED_OVER.has(now))
    return draft.done(illegalNode(draft, node, verb));
  if (hasEnded(nodeState(draft.task(), node))) rewind(draft, [node], { by, command });
  const { attempt } = nodeState(draft.task(), node);
  endNode(draft, { ...end, node, attempt, command });
  settle(draft);
  return draft.done();
};

type NodeEndByHand =
  | Pick<Extract<NodeEnd, { readonly type: 'node_skipped' }>, 'type' | 'reason'>
  | Pick<Extract<NodeEnd, { readonly type: 'node_succeeded' }>, 'type' | 'outputs' | 'detail' | 'by'>;

/** A node that is left out: what follows it goes on as if it had succeeded. */
export const skip = (
  draft: Draft,
  said: Said & { readonly node: NodeId },
  command: CommandId,
): Decision<TaskEvent> => {
  const { by = 'unknown', reason = 'skipped by hand' } = said;
  const end = { type: 'node_skipped', reason: `${reason} (${by})` } as const;
  return passOver(draft, said, command, { verb: 'skipped', status: 'skipped', end });
};

/** A node that somebody takes as done, with what they say that it gave. */
export const done = (
  draft: Draft,
  said: Said & { readonly node: NodeId; readonly outputs?: JsonObject | undefined },
  command: CommandId,
): Decision<TaskEvent> => {
  const { by = 'unknown', reason: detail = 'done by hand', outputs = {} } = said;
  const end = { type: 'node_succeeded', outputs, detail, by } as const;
  return passOver(draft, said, command, { verb: 'taken as done', status: 'succeeded', end });
};

const MAY_BE_PASSED_OVER: ReadonlySet<NodeStatus> = new Set([
  'idle',
  'waiting',
  'awaiting_approval',
  'approved',
  'locking',
  'retrying',
  'escalated',
  'failed',
  'blocked',
  'cancelled',
]);

type Retry = {
  readonly node?: NodeId | undefined;
  readonly attempt?: number | undefined;
  readonly rewind?: boolean | undefined;
  readonly by?: string | undefined;
};

/** Another attempt for what was escalated to a person: it counts like any other. */
export const retry = (draft: Draft, wanted: Retry, command: CommandId): Decision<TaskEvent> => {
  const unknown = unknownNode(draft, wanted.node);
  if (unknown !== undefined) return draft.done(unknown);
  return wanted.rewind === true ? startAnew(draft, wanted, command) : tryAgain(draft, wanted, command);
};

const tryAgain = (
  draft: Draft,
  { node, attempt, by = 'unknown' }: Retry,
  command: CommandId,
): Decision<TaskEvent> => {
  const { definition, phase } = draft.task();
  if (isTerminal(phase)) return draft.done(illegal(draft, 'retried'));
  const meant = definition.nodes
    .filter(({ id }) => node === undefined || node === id)
    .map(({ id }) => ({ id, state: nodeState(draft.task(), id) }));
  const escalated = meant.filter(
    ({ state }) => state.status === 'escalated' && (attempt === undefined || attempt === state.attempt),
  );
  if (escalated.length === 0) {
    const followed = attempt !== undefined && meant.some(({ state }) => state.attempt > attempt);
    return draft.done(
      followed ? undefined : illegal(draft, 'retried', ': no such attempt waits for a person'),
    );
  }
  for (const { id } of escalated) {
    // Of two that lead back to the same the first has done it for both.
    if (nodeState(draft.task(), id).status !== 'escalated') continue;
    grantResume(draft, id, `${by} lets it be tried again`);
    tryOnceMore(draft, id, { by, command });
  }
  settle(draft);
  return draft.done();
};

const UNDER_WAY: ReadonlySet<NodeStatus> = new Set(['running', 'recovering', 'locking']);
const UNSUCCESSFUL: ReadonlySet<NodeStatus> = new Set(['failed', 'blocked', 'cancelled']);

/** Nodes that have ended, and everything downstream of them, from the beginning; a task that failed goes on. */
const startAnew = (
  draft: Draft,
  { node, attempt, by = 'unknown' }: Retry,
  command: CommandId,
): Decision<TaskEvent> => {
  const { phase, definition } = draft.task();
  if (isTerminal(phase) && phase !== 'failed')
    return draft.done(illegal(draft, 'retried', '; run it again or fork it'));
  if (node !== undefined && attempt !== undefined && nodeState(draft.task(), node).attempt !== attempt)
    return draft.done(
      nodeState(draft.task(), node).attempt > attempt ? undefined : illegalNode(draft, node, 'retried'),
    );
  const targets =
    node === undefined
      ? definition.nodes.flatMap(({ id }) =>
          UNSUCCESSFUL.has(nodeState(draft.task(), id).status) ? [id] : [],
        )
      : [node];
  if (targets.length === 0) return draft.done(illegal(draft, 'retried', ': nothing in it has failed'));
  const busy = rewoundBy(draft, targets).find((id) => UNDER_WAY.has(nodeState(draft.task(), id).status));
  if (busy !== undefined) return draft.done(illegalNode(draft, busy, 'restarted before it has ended'));
  rewind(draft, targets, { by, command });
  settle(draft);
  return draft.done();
};
