import { type ErrorBody, type ErrorCode, errorBody } from '@holdpoint/contracts/values/errors';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { StuckResolution } from '@holdpoint/contracts/recovery/commands';
import { Outcome } from '@holdpoint/contracts/workflow/workflow';
import {
  CIRCUIT_TIMER,
  notifyTask,
  lookTimer,
  PEERS_TIMER,
  REPORT_TIMER,
  replyTimer,
  retryTimer,
} from '../outgoing/outgoing.ts';
import { releaseLocks, reportArtifacts } from '../outgoing/registry-requests.ts';
import { reportUnstuck } from '../outgoing/recovery-requests.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { allNodes } from '../model/nodes.ts';
import {
  countOf,
  endOf,
  hasEnded,
  nodeDefinition,
  type NodeState,
  nodeState,
  type Task,
  type TaskChange,
  type Withdrawal,
} from '../model/state.ts';
import { sendCallback } from '../outgoing/callback.ts';
import { reportTrial } from '../outgoing/circuits.ts';
import { waitsForOwnRun } from '../model/artifact-status.ts';
import { withdraw } from '../outgoing/withdraw.ts';
import { labelsMadeBy, workflowIndex } from '../model/workflow-index.ts';

export type NodeEnd = Extract<
  TaskChange,
  { readonly type: 'node_succeeded' | 'node_ended' | 'node_skipped' | 'node_blocked' }
>;

/** Clears the timers of a node and releases what it holds or has requested. */
export const releaseNode = (builder: DecisionBuilder, node: NodeId, before: NodeState): void => {
  if (AWAITS_REPLY.has(before.status) || before.inDoubt !== undefined || before.stuck !== undefined)
    builder.timer({ clear: replyTimer(node) });
  if (before.status === 'retrying') builder.timer({ clear: retryTimer(node) });
  if (before.looks !== undefined) builder.timer({ clear: lookTimer(node) });
  releaseAttempt(builder, node, before);
};

const AWAITS_REPLY: ReadonlySet<NodeState['status']> = new Set([
  'waiting',
  'awaiting_approval',
  'locking',
  'running',
  'recovering',
]);

/** Releases the locks of an attempt and withdraws its requests and orders. */
export const releaseAttempt = (builder: DecisionBuilder, node: NodeId, before: NodeState): void => {
  if (before.locks !== undefined && nodeState(builder.task(), node).locks === undefined)
    builder.send(releaseLocks(builder.task(), node, before.attempt, builder.now));
  for (const of of newlyWithdrawn(nodeState(builder.task(), node).withdrawn, before.withdrawn))
    withdraw(builder, node, 0, of);
  reportStuckJobEnd(builder, node, before);
};

const RESOLUTIONS: Partial<Readonly<Record<NodeState['status'], StuckResolution>>> = {
  retrying: 'retry',
  idle: 'retry',
  running: 'retry',
  skipped: 'skip',
  succeeded: 'done',
  cancelled: 'cancel',
};

/** Tells recovery that a stuck job was resolved, however that happened. */
export const reportStuckJobEnd = (
  builder: DecisionBuilder,
  node: NodeId,
  { status, verdict, attempt }: NodeState,
): void => {
  if (status !== 'escalated' || verdict === undefined) return;
  const after = nodeState(builder.task(), node);
  if (after.status === 'escalated' && after.attempt === attempt) return;
  const how = RESOLUTIONS[after.status] ?? 'ended';
  builder.send(reportUnstuck({ task: builder.task().id, node, attempt, resolution: how }, builder.now));
};

const withdrawnIn = (withdrawn: Withdrawal | undefined): readonly (readonly [of: string, key: string])[] => [
  ...(withdrawn?.approval ? [[withdrawn.approval.id, withdrawn.approval.id] as const] : []),
  ...(withdrawn?.questions ?? []).map(({ id }) => [id, id] as const),
  ...(withdrawn?.rollbacks ?? []).map((id) => [id, id] as const),
  ...(withdrawn?.effects ?? []).map(({ id, attempt }) => [id, `${id}.${String(attempt)}`] as const),
];

/** An older withdrawal has its own timer. */
const newlyWithdrawn = (
  withdrawn: Withdrawal | undefined,
  before: Withdrawal | undefined,
): readonly string[] => {
  if (withdrawn === before) return [];
  const known = new Set(withdrawnIn(before).map(([, key]) => key));
  return withdrawnIn(withdrawn).flatMap(([of, key]) => (known.has(key) ? [] : [of]));
};

/** Sends the registry the current state of this task's artifacts. */
export const sendArtifactReport = (builder: DecisionBuilder, resends = 0): void => {
  const task = builder.task();
  if (task.repository === undefined || workflowIndex(task.definition).givers.size === 0) return;
  builder.send(reportArtifacts(task, resends));
  builder.resendTimer(REPORT_TIMER, resends);
};

/** Limit for the outputs in a notification. */
const PEER_OUTPUTS_MAX = 64 * 1024;

/** The outputs or error of a single-node task, for the task that submitted it. */
export const peerResult = (task: Task): { readonly outputs?: JsonObject; readonly error?: ErrorBody } => {
  const [only, ...others] = task.definition.nodes;
  if (only === undefined || others.length > 0) return {};
  const { outputs, error = task.error } = nodeState(task, only.id);
  const fits = outputs !== undefined && JSON.stringify(outputs).length <= PEER_OUTPUTS_MAX;
  return { ...(fits && { outputs }), ...(error !== undefined && { error }) };
};

const notifyWatchers = (
  builder: DecisionBuilder,
  node: NodeId | undefined,
  outcome: Outcome | undefined,
): void => {
  const { id, watchers, version } = builder.task();
  for (const watcher of watchers) {
    if (watcher.node !== node || outcome === undefined) continue;
    const key = `peer.${id}.${node ?? ''}.${String(version)}`;
    const gave = node === undefined ? peerResult(builder.task()) : {};
    const about = { kind: 'peer', task: watcher.task, peer: id, outcome, ...gave } as const;
    builder.send(notifyTask(watcher.task, key, { ...about, ...(node !== undefined && { node }) }));
  }
};

/** Ends a node and enqueues the nodes that depend on it. */
export const endNode = (builder: DecisionBuilder, end: NodeEnd): void => {
  const { node } = end;
  const before = nodeState(builder.task(), node);
  builder.emit(end);
  releaseNode(builder, node, before);
  const task = builder.task();
  const { graph, consumers, givers } = workflowIndex(task.definition);
  notifyWatchers(builder, node, endOf(nodeState(task, node)));
  if (givers.has(node)) sendArtifactReport(builder);
  for (const { to, loop } of graph.outgoing(node)) if (!loop) builder.enqueue([to]);
  if (consumers.size === 0) return;
  const definition = nodeDefinition(task, node);
  for (const label of Outcome.options.flatMap((outcome) => labelsMadeBy(definition, outcome)))
    builder.enqueue(consumers.get(label) ?? []);
};

/** Ends a node as forbidden. */
export const blockNode = (
  builder: DecisionBuilder,
  node: NodeId,
  message: string,
  code: ErrorCode = 'ERR_FORBIDDEN',
): void => {
  const { attempt } = nodeState(builder.task(), node);
  endNode(builder, { type: 'node_blocked', node, attempt, error: errorBody(code, message) });
};

/** Ends the task. From here on it only waits for its withdrawals to be confirmed. */
export const endTask = (
  builder: DecisionBuilder,
  end: Extract<TaskChange, { readonly type: 'completed' | 'cancelled' | 'failed' }>,
): void => {
  const before = builder.task();
  builder.emit(end);
  const { nodes } = before.definition;
  allNodes(before.nodes).forEach((state, place) => {
    const id = nodes[place]?.id;
    if (id === undefined || hasEnded(state)) return;
    releaseNode(builder, id, state);
    notifyWatchers(builder, id, endOf(nodeState(builder.task(), id)));
  });
  if (Object.values(before.peers).includes(null)) builder.timer({ clear: PEERS_TIMER });
  if (before.circuit?.state === 'waiting') builder.timer({ clear: CIRCUIT_TIMER });
  reportTrial(builder);
  sendArtifactReport(builder);
  notifyWatchers(builder, undefined, builder.task().outcome);
  sendCallback(builder, 'ended');
};

const OPEN = ['awaiting_approval', 'running', 'recovering', 'retrying', 'escalated'] as const;
/** Such a node may wait for an artifact that this run no longer makes. */
const BEFORE_START = ['waiting', 'approved', 'locking'] as const;

/** Limit for the outputs in the `completed` event. */
const OUTPUTS_MAX = 256 * 1024;

const outputsOf = (task: Task): Record<string, JsonObject> => {
  const outputs: Record<string, JsonObject> = {};
  let size = 0;
  task.definition.nodes.forEach(({ id }) => {
    const { outputs: own } = nodeState(task, id);
    if (own === undefined) return;
    size += JSON.stringify(own).length;
    if (size <= OUTPUTS_MAX) outputs[id] = own;
  });
  return outputs;
};

/**
 * Whether an open node can still end by itself. A node that waits only for an artifact of its own run cannot,
 * once nothing else is open.
 */
const isUnderWay = (task: Task): boolean => {
  if (countOf(task, ...OPEN) > 0) return true;
  return countOf(task, ...BEFORE_START) > 0 && task.definition.nodes.some(({ id }) => isAwaited(task, id));
};

const isAwaited = (task: Task, node: NodeId): boolean =>
  BEFORE_START.some((status) => status === nodeState(task, node).status) && !waitsForOwnRun(task, node);

const hasPausedNode = (task: Task): boolean =>
  task.pausedNodes > 0 && allNodes(task.nodes).some((state) => state.paused === true && !hasEnded(state));

/** Ends the task when nothing is under way and nothing can start. */
export const endTaskIfDone = (builder: DecisionBuilder): void => {
  const task = builder.task();
  if (task.pausedByHand || isUnderWay(task)) return;
  const idle = countOf(task, 'idle', ...BEFORE_START);
  if (idle > 0 && hasPausedNode(task)) return;
  const failed = countOf(task, 'failed', 'cancelled') > 0;
  if (!failed && countOf(task, 'blocked') === 0 && idle === 0)
    return endTask(builder, { type: 'completed', outputs: outputsOf(task) });
  failTask(builder, failed ? 'failed' : 'blocked', causeIn(task, failed ? FAILED : BLOCKED));
};

const FAILED: ReadonlySet<NodeState['status']> = new Set(['failed', 'cancelled']);
const BLOCKED: ReadonlySet<NodeState['status']> = new Set(['blocked']);

/** The first node that ended so by itself, not because of another node. */
const causeIn = (task: Task, statuses: ReadonlySet<NodeState['status']>): NodeId | undefined =>
  task.definition.nodes.find(({ id }) => {
    const { status, error } = nodeState(task, id);
    return statuses.has(status) && error?.code !== 'NODE_DEPENDENCY';
  })?.id;

const failTask = (
  builder: DecisionBuilder,
  outcome: 'failed' | 'blocked',
  cause: NodeId | undefined,
): void => {
  const { code, message } =
    (cause === undefined ? undefined : nodeState(builder.task(), cause).error) ??
    errorBody('NODE_BLOCKED', 'no node can start');
  const error = { code, message, ...(cause !== undefined && { details: { node: cause } }) };
  endTask(builder, { type: 'failed', outcome, error });
};

/** Ends the task after a failure without a route, unless the policy lets independent nodes continue. */
export const failOnFailedNode = (builder: DecisionBuilder): boolean => {
  const task = builder.task();
  if (countOf(task, 'failed', 'blocked', 'cancelled') === 0) return false;
  if (task.definition.policy?.failureMode === 'continue_independent') return false;
  const { graph } = workflowIndex(task.definition);
  const cause = task.definition.nodes.find(({ id }) => {
    const { status, error } = nodeState(task, id);
    if ((!FAILED.has(status) && !BLOCKED.has(status)) || error?.code === 'NODE_DEPENDENCY') return false;
    return !graph.outgoing(id).some(({ on, loop }) => !loop && on === status);
  });
  if (cause === undefined) return false;
  failTask(builder, BLOCKED.has(nodeState(task, cause.id).status) ? 'blocked' : 'failed', cause.id);
  return true;
};
