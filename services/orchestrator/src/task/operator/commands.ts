import { isEndPhase } from '@holdpoint/contracts/task/status';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { CommandId, NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { Answer, Decision } from '@holdpoint/runtime/decider';
import { recordResumeGrant } from '../model/checkpoints.ts';
import { type DecisionBuilder, enqueueOpenNodes } from '../model/decision-builder.ts';
import { endNode, endTask, type NodeEnd } from '../graph/ending.ts';
import { restartNodes, restartSet } from '../graph/restart.ts';
import { advance } from '../graph/advance.ts';
import { retryByPerson } from '../replies/stuck-job.ts';
import { findNode, hasEnded, nodeState, type NodeStatus } from '../model/state.ts';

type CommandFields = {
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
  readonly node?: NodeId | undefined;
};

const illegal = (builder: DecisionBuilder, verb: string, hint = ''): Answer => {
  const { id, phase } = builder.task();
  return {
    error: errorBody('ORCHESTRATOR_ILLEGAL_IN_PHASE', `task ${id} is ${phase}: it cannot be ${verb}${hint}`, {
      phase,
    }),
  };
};

const illegalNode = (builder: DecisionBuilder, node: NodeId, verb: string): Answer => {
  const { id, phase } = builder.task();
  const { status } = nodeState(builder.task(), node);
  const message = `job ${id}/${node} is ${status}: it cannot be ${verb}`;
  return { error: errorBody('ORCHESTRATOR_ILLEGAL_IN_PHASE', message, { phase, status }) };
};

const unknownNode = (builder: DecisionBuilder, node: NodeId | undefined): Answer | undefined => {
  if (node === undefined || findNode(builder.task(), node) !== undefined) return undefined;
  return { error: errorBody('ORCHESTRATOR_UNKNOWN_NODE', `task ${builder.task().id} has no node ${node}`) };
};

export const cancel = (
  builder: DecisionBuilder,
  {
    by = 'unknown',
    reason = 'cancelled by hand',
    node,
    ifOpen = false,
  }: CommandFields & { readonly ifOpen?: boolean | undefined },
  command: CommandId,
): Decision<TaskEvent> => {
  if (ifOpen && isEndPhase(builder.task().phase)) return builder.done();
  const unknown = unknownNode(builder, node);
  if (unknown !== undefined) return builder.done(unknown);
  if (node !== undefined) return cancelNode(builder, node, `${reason} (${by})`, command);
  if (builder.task().phase === 'cancelled') return builder.done();
  if (isEndPhase(builder.task().phase)) return builder.done(illegal(builder, 'cancelled'));
  endTask(builder, { type: 'cancelled', by, reason });
  return builder.done();
};

const cancelNode = (
  builder: DecisionBuilder,
  node: NodeId,
  reason: string,
  command: CommandId,
): Decision<TaskEvent> => {
  const { status, attempt } = nodeState(builder.task(), node);
  if (status === 'cancelled') return builder.done();
  if (isEndPhase(builder.task().phase) || hasEnded(nodeState(builder.task(), node)))
    return builder.done(illegalNode(builder, node, 'cancelled'));
  const error = errorBody('NODE_CANCELLED', reason);
  endNode(builder, { type: 'node_ended', node, attempt, outcome: 'cancelled', error, command });
  advance(builder);
  return builder.done();
};

/** Nothing new starts. Running steps and open requests continue, and their outcomes are kept. */
export const pause = (
  builder: DecisionBuilder,
  { by = 'unknown', reason = 'paused by hand', node }: CommandFields,
  command: CommandId,
): Decision<TaskEvent> => {
  const unknown = unknownNode(builder, node);
  if (unknown !== undefined) return builder.done(unknown);
  if (isEndPhase(builder.task().phase)) return builder.done(illegal(builder, 'paused'));
  if (node !== undefined) {
    const state = nodeState(builder.task(), node);
    if (state.paused === true) return builder.done();
    if (hasEnded(state)) return builder.done(illegalNode(builder, node, 'paused'));
    builder.emit({ type: 'node_paused', node, by, reason, command });
    return builder.done();
  }
  if (builder.task().pausedByHand) return builder.done();
  builder.emit({ type: 'paused', by, reason, command });
  return builder.done();
};

export const resume = (
  builder: DecisionBuilder,
  { by = 'unknown', node }: CommandFields,
  command: CommandId,
): Decision<TaskEvent> => {
  const unknown = unknownNode(builder, node);
  if (unknown !== undefined) return builder.done(unknown);
  if (isEndPhase(builder.task().phase)) return builder.done(illegal(builder, 'resumed'));
  if (node !== undefined) {
    if (nodeState(builder.task(), node).paused !== true) return builder.done();
    builder.emit({ type: 'node_resumed', node, by, command });
    builder.enqueue([node]);
    advance(builder);
    return builder.done();
  }
  if (!builder.task().pausedByHand) {
    // An escalation is no pause: a person must resolve it.
    const stuck = builder
      .task()
      .definition.nodes.find(({ id }) => nodeState(builder.task(), id).status === 'escalated');
    return stuck === undefined
      ? builder.done()
      : builder.done(illegal(builder, 'resumed', `; decide about its job ${stuck.id} instead`));
  }
  builder.emit({ type: 'resumed', by, command });
  enqueueOpenNodes(builder);
  advance(builder);
  return builder.done();
};

/** Ends an unsuccessful node with an outcome that an operator chooses. */
const overrideOutcome = (
  builder: DecisionBuilder,
  { node, by = 'unknown' }: CommandFields & { readonly node: NodeId },
  command: CommandId,
  { verb, status, end }: { readonly verb: string; readonly status: NodeStatus; readonly end: NodeEndByHand },
): Decision<TaskEvent> => {
  const unknown = unknownNode(builder, node);
  if (unknown !== undefined) return builder.done(unknown);
  const { status: now } = nodeState(builder.task(), node);
  if (now === status) return builder.done();
  const { phase } = builder.task();
  if ((isEndPhase(phase) && phase !== 'failed') || !MAY_BE_PASSED_OVER.has(now))
    return builder.done(illegalNode(builder, node, verb));
  if (hasEnded(nodeState(builder.task(), node))) restartNodes(builder, [node], { by, command });
  const { attempt } = nodeState(builder.task(), node);
  endNode(builder, { ...end, node, attempt, command });
  advance(builder);
  return builder.done();
};

type NodeEndByHand =
  | Pick<Extract<NodeEnd, { readonly type: 'node_skipped' }>, 'type' | 'reason'>
  | Pick<Extract<NodeEnd, { readonly type: 'node_succeeded' }>, 'type' | 'outputs' | 'detail' | 'by'>;

/** Dependents continue as if the node had succeeded. */
export const skip = (
  builder: DecisionBuilder,
  said: CommandFields & { readonly node: NodeId },
  command: CommandId,
): Decision<TaskEvent> => {
  const { by = 'unknown', reason = 'skipped by hand' } = said;
  const end = { type: 'node_skipped', reason: `${reason} (${by})` } as const;
  return overrideOutcome(builder, said, command, { verb: 'skipped', status: 'skipped', end });
};

/** Takes the node as succeeded, with the outputs that the operator gives. */
export const done = (
  builder: DecisionBuilder,
  said: CommandFields & { readonly node: NodeId; readonly outputs?: JsonObject | undefined },
  command: CommandId,
): Decision<TaskEvent> => {
  const { by = 'unknown', reason: detail = 'done by hand', outputs = {} } = said;
  const end = { type: 'node_succeeded', outputs, detail, by } as const;
  return overrideOutcome(builder, said, command, { verb: 'marked done', status: 'succeeded', end });
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

/** One more attempt for every escalated job. It counts like any other. */
export const retry = (builder: DecisionBuilder, wanted: Retry, command: CommandId): Decision<TaskEvent> => {
  const unknown = unknownNode(builder, wanted.node);
  if (unknown !== undefined) return builder.done(unknown);
  return wanted.rewind === true ? restart(builder, wanted, command) : tryAgain(builder, wanted, command);
};

const tryAgain = (
  builder: DecisionBuilder,
  { node, attempt, by = 'unknown' }: Retry,
  command: CommandId,
): Decision<TaskEvent> => {
  const { definition, phase } = builder.task();
  if (isEndPhase(phase)) return builder.done(illegal(builder, 'retried'));
  const meant = definition.nodes
    .filter(({ id }) => node === undefined || node === id)
    .map(({ id }) => ({ id, state: nodeState(builder.task(), id) }));
  const escalated = meant.filter(
    ({ state }) => state.status === 'escalated' && (attempt === undefined || attempt === state.attempt),
  );
  if (escalated.length === 0) {
    const followed = attempt !== undefined && meant.some(({ state }) => state.attempt > attempt);
    return builder.done(followed ? undefined : illegal(builder, 'retried', ': no escalated job matches'));
  }
  for (const { id } of escalated) {
    // The restart of an earlier job may have covered this one.
    if (nodeState(builder.task(), id).status !== 'escalated') continue;
    recordResumeGrant(builder, id, `${by} allowed another attempt`);
    retryByPerson(builder, id, { by, command });
  }
  advance(builder);
  return builder.done();
};

const UNDER_WAY: ReadonlySet<NodeStatus> = new Set(['running', 'recovering', 'locking']);
const UNSUCCESSFUL: ReadonlySet<NodeStatus> = new Set(['failed', 'blocked', 'cancelled']);

/** Restarts ended nodes and everything downstream. A failed task continues. */
const restart = (
  builder: DecisionBuilder,
  { node, attempt, by = 'unknown' }: Retry,
  command: CommandId,
): Decision<TaskEvent> => {
  const { phase, definition } = builder.task();
  if (isEndPhase(phase) && phase !== 'failed')
    return builder.done(illegal(builder, 'retried', '; run it again or fork it'));
  if (node !== undefined && attempt !== undefined && nodeState(builder.task(), node).attempt !== attempt)
    return builder.done(
      nodeState(builder.task(), node).attempt > attempt ? undefined : illegalNode(builder, node, 'retried'),
    );
  const targets =
    node === undefined
      ? definition.nodes.flatMap(({ id }) =>
          UNSUCCESSFUL.has(nodeState(builder.task(), id).status) ? [id] : [],
        )
      : [node];
  if (targets.length === 0) return builder.done(illegal(builder, 'retried', ': no job has failed'));
  const busy = restartSet(builder, targets).find((id) => UNDER_WAY.has(nodeState(builder.task(), id).status));
  if (busy !== undefined) return builder.done(illegalNode(builder, busy, 'restarted while it runs'));
  restartNodes(builder, targets, { by, command });
  advance(builder);
  return builder.done();
};
