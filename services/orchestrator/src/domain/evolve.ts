import type { CommandId, NodeId } from '@holdpoint/contracts/ids';
import type { TaskEvent, TaskPhase } from '@holdpoint/contracts/task';
import { type Gate, isDone, type NodeState, nodeState, type Task, type TaskState } from './state.ts';

type Submitted = Extract<TaskEvent, { type: 'submitted' }>;

const NEW_NODE: NodeState = { status: 'idle', attempt: 1, revision: 0 };

const created = (event: Submitted): Task => ({
  id: event.id,
  version: 1,
  phase: event.phase,
  goal: event.goal,
  acceptanceCriteria: event.acceptanceCriteria,
  inputs: event.inputs,
  requestedBy: event.requestedBy,
  contentDigest: event.contentDigest,
  definition: event.definition,
  pausedByHand: false,
  nodes: Object.fromEntries(event.definition.nodes.map(({ id }) => [id, NEW_NODE])),
});

const withNode = (task: Task, node: NodeId, change: Partial<NodeState>): Task => ({
  ...task,
  nodes: { ...task.nodes, [node]: { ...nodeState(task, node), ...change } },
});

const granted = (task: Task, node: NodeId, token: string, validUntil: number): { readonly gate?: Gate } => {
  const { gate } = nodeState(task, node);
  return gate === undefined ? {} : { gate: { ...gate, grant: { token, validUntil } } };
};

/** What a cancellation may give as its reason. */
const REASON_MAX = 1_000;

/** A task that ends takes back what it still asks of others. An effect that has started may be applied all the same. */
const withdrawn = (task: Task, why: string): Task => {
  const reason = why.slice(0, REASON_MAX).toWellFormed();
  return Object.entries(task.nodes).reduce((reached, [id, { status }]) => {
    if (status !== 'awaiting_approval' && status !== 'running') return reached;
    const of = status === 'running' ? 'effect' : 'approval';
    return withNode(reached, id as NodeId, { withdrawn: { of, reason } });
  }, task);
};

const succeeded = (task: Task, node: NodeId, outputs: NodeState['outputs'] = {}): Task => {
  const done = withNode(task, node, { status: 'succeeded', outputs });
  // It had happened before the question was put again: nobody need answer that.
  return nodeState(task, node).status === 'awaiting_approval'
    ? withNode(done, node, { withdrawn: { of: 'approval', reason: 'the effect has happened' } })
    : done;
};

/** A message comes again while its acknowledgement is missing, not after so many others that were acted upon. */
const COMMANDS_KEPT = 50;

const heard = (task: Task, command: CommandId | undefined): Task => {
  const { commands = [] } = task;
  return command === undefined || commands.includes(command)
    ? task
    : { ...task, commands: [...commands, command].slice(-COMMANDS_KEPT) };
};

/** What an event changes, beside version and phase. */
const fold = (task: Task, event: TaskEvent): Task => {
  switch (event.type) {
    case 'submitted':
    case 'readied':
      return task;
    case 'cancelled':
      return withdrawn(task, event.reason);
    case 'completed':
      return task.definition.nodes
        .filter(({ uses }) => uses === 'control.terminal')
        .reduce((reached, { id }) => withNode(reached, id, { status: 'succeeded' }), task);
    case 'approval_requested': {
      const { approval, effectId, effect, digest, revision, attempt } = event;
      return withNode(task, event.node, {
        status: 'awaiting_approval',
        attempt,
        revision,
        gate: { approval, effectId, effect, digest },
      });
    }
    case 'approval_closed':
      return event.grant === undefined
        ? withNode(task, event.node, { reason: `${event.outcome} by ${event.by}` })
        : withNode(task, event.node, {
            status: 'approved',
            ...granted(task, event.node, event.grant, event.validUntil ?? 0),
          });
    case 'effect_ordered':
      return withNode(task, event.node, {
        status: 'running',
        ordered: true,
        attempt: event.attempt,
        ...granted(task, event.node, event.grant, event.validUntil),
      });
    case 'node_succeeded':
      return succeeded(task, event.node, event.outputs);
    case 'node_failed':
      return withNode(task, event.node, {
        status: 'recovering',
        failure: { outcome: event.outcome, error: event.error },
      });
    case 'node_retrying':
      return heard(withNode(task, event.node, { status: 'retrying', attempt: event.attempt }), event.command);
    case 'node_skipped':
      return withNode(task, event.node, { status: 'skipped', reason: event.reason });
    case 'node_blocked':
      return withNode(task, event.node, { status: 'blocked', reason: event.error.message });
    case 'node_escalated':
      return withNode(task, event.node, { status: 'escalated', reason: event.reason });
    case 'paused':
      return heard({ ...task, pausedByHand: true }, event.command);
    case 'resumed':
      return heard({ ...task, pausedByHand: false }, event.command);
    case 'failed':
      return { ...withdrawn(task, `the task failed: ${event.error.message}`), error: event.error };
  }
};

export const evolve = (state: TaskState, event: TaskEvent): TaskState => {
  if (event.type === 'submitted') return created(event);
  if (state.phase === 'absent') throw new Error(`event ${event.type} of a task that was never submitted`);
  return { ...fold(state, event), version: state.version + 1, phase: event.phase };
};

/** An event before its phase is known. */
export type TaskChange = TaskEvent extends infer E
  ? E extends TaskEvent
    ? Omit<E, 'phase' | 'id'>
    : never
  : never;

/** Which phase an event leads to: ends first, then what needs a person, then what goes on by itself. */
export const phaseAfter = (state: TaskState, change: TaskChange): TaskPhase => {
  if (change.type === 'submitted' || state.phase === 'absent') return 'queued';
  if (change.type === 'completed' || change.type === 'failed' || change.type === 'cancelled')
    return change.type;
  if (change.type === 'readied') return 'execution_ready';
  const after = fold(state, { ...change, id: state.id, phase: state.phase });
  const nodes = Object.values(after.nodes);
  const any = (...statuses: readonly NodeState['status'][]): boolean =>
    nodes.some(({ status }) => statuses.includes(status));
  if (after.pausedByHand || any('escalated')) return 'paused';
  if (any('awaiting_approval')) return 'awaiting_approval';
  if (any('recovering', 'retrying')) return 'recovering';
  // Blocked on its way to `failed`, which follows in the same decision.
  if (any('running', 'approved', 'blocked') || nodes.some(isDone)) return 'executing';
  return 'execution_ready';
};
