import { artifactLabel } from '@holdpoint/contracts/workflow/artifact';
import type { EffectId, NodeId } from '@holdpoint/contracts/values/ids';
import { digestOf } from '@holdpoint/contracts/values/json';
import type { JobStatus } from '@holdpoint/contracts/task/status';
import type { NodeView, TaskView } from '@holdpoint/contracts/task/views';
import {
  Outcome,
  type NodeDefinition,
  type WorkflowDefinition,
} from '@holdpoint/contracts/workflow/workflow';
import { activationOf } from '../task/graph/activation.ts';
import { currentLimits } from '../task/model/budget.ts';
import { contextNow } from '../task/model/context.ts';
import { hasEnded, type NodeState, nodeState, openQuestion, type Task } from '../task/model/state.ts';
import { workflowIndex } from '../task/model/workflow-index.ts';

/** The job status that the command line shows for a node. */
const jobStatus = (task: Task, { status, paused, wait, gate }: NodeState): JobStatus => {
  if (paused === true && status !== 'running') return 'paused';
  switch (status) {
    case 'idle':
      return task.pausedByHand ? 'paused' : 'waiting_on_deps';
    case 'waiting':
      return wait?.kind === 'locks' ? 'waiting_on_locks' : 'waiting_on_deps';
    case 'awaiting_approval':
      return 'waiting_on_approval';
    case 'approved':
      return 'queued';
    case 'locking':
      return 'waiting_on_locks';
    case 'retrying':
    case 'recovering':
      return 'recovering';
    case 'blocked':
      return gate === undefined || gate.grant !== undefined ? 'blocked_by_dependency' : 'blocked_by_approval';
    case 'running':
    case 'escalated':
    case 'succeeded':
    case 'skipped':
    case 'unreached':
    case 'failed':
    case 'cancelled':
      return status;
  }
};

/** The nodes that an idle node waits for. The state does not record them. */
const graphWait = (task: Task, node: NodeDefinition, { status }: NodeState): NodeView['wait'] => {
  if (status !== 'idle') return undefined;
  const activation = activationOf(task, node.id);
  return activation.kind === 'pending' ? { kind: 'dependencies', detail: activation.detail } : undefined;
};

/** The context of an activated node. Until its end it is only derived. */
const contextOf = (task: Task, { id }: NodeDefinition, state: NodeState): NodeView['context'] => {
  if (state.status === 'idle' || hasEnded(state)) return state.context;
  const now = contextNow(task, id);
  return Object.keys(now).length > 0 ? now : state.context;
};

const openEffects = ({ gate, orders = {}, underGrant }: NodeState): EffectId[] => [
  ...(Object.keys(orders) as EffectId[]),
  ...(underGrant && gate !== undefined ? [gate.effectId] : []),
];

/** Nodes that must succeed first, from both sides of the edges. */
const predecessorsOf = (task: Task, node: NodeId): NodeId[] =>
  workflowIndex(task.definition)
    .graph.incoming(node)
    .flatMap(({ from, on }) => (on === 'succeeded' ? [from] : []));

const labelsOf = (node: NodeDefinition) => ({
  ...(node.locks && { locks: node.locks.map(({ key, mode }) => `${key} (${mode})`) }),
  ...(node.needs && { needs: node.needs.map(artifactLabel) }),
  ...(node.produces && {
    produces: Outcome.options.flatMap((outcome) => (node.produces?.[outcome] ?? []).map(artifactLabel)),
  }),
});

/** A node that ran, led back and was not needed again counts as the succeeded job that it was. */
const shownResult = (
  task: Task,
  state: NodeState,
): Pick<NodeView, 'job'> & { readonly reason?: string | undefined; readonly detail?: string | undefined } => {
  const { status, succeededBefore: earlier, reason, detail, deferral } = state;
  if (status !== 'unreached' || earlier === undefined)
    return { job: jobStatus(task, state), reason: deferral?.reason ?? reason, detail };
  const result = earlier.detail ?? 'succeeded';
  return { job: 'succeeded', detail: `attempt ${String(earlier.attempt)}: ${result}; not needed again` };
};

const nodeView = (task: Task, node: NodeDefinition): NodeView => {
  const state = nodeState(task, node.id);
  const { status, attempt, gate, outputs, failure, exitCode } = state;
  const effects = openEffects(state);
  const question = openQuestion(state);
  const { hint: _hint, report: _report, ...verdict } = state.verdict ?? state.preparation?.verdict ?? {};
  return {
    id: node.id,
    status,
    ...shownResult(task, state),
    attempt,
    uses: node.uses,
    name: node.name,
    after: predecessorsOf(task, node.id),
    wait: state.wait ?? graphWait(task, node, state),
    exitCode,
    approval: gate?.approval,
    effect: gate?.effectId,
    ...(question !== undefined && { question }),
    ...('kind' in verdict && { verdict }),
    ...(state.session !== undefined && { session: state.session }),
    gated: node.effect !== undefined || node.approval !== undefined,
    ...(effects.length > 0 && { effects }),
    ...labelsOf(node),
    context: contextOf(task, node, state),
    outputs,
    error: failure?.error,
  };
};

const hashes = new WeakMap<WorkflowDefinition, string>();

/** The hash of a definition, independent of the order of its nodes. */
const hashOf = (definition: WorkflowDefinition): string => {
  const known = hashes.get(definition);
  if (known !== undefined) return known;
  const nodes = definition.nodes.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const hash = digestOf({ ...definition, nodes });
  hashes.set(definition, hash);
  return hash;
};

/** The API view of a task that runs a graph. */
export const taskView = (task: Task): TaskView => {
  const { graph } = workflowIndex(task.definition);
  const after = Object.keys(task.peers);
  const limits = currentLimits(task);
  return {
    id: task.id,
    workflow: `${task.definition.id}@${task.definition.version}`,
    selector: task.workflow,
    definitionHash: hashOf(task.definition),
    goal: task.goal,
    ...(task.acceptanceCriteria.length > 0 && { acceptanceCriteria: [...task.acceptanceCriteria] }),
    phase: task.phase,
    version: task.version,
    repository: task.repository,
    ...(after.length > 0 && { after }),
    requestedBy: task.requestedBy,
    ...(task.agent !== undefined && { agent: task.agent }),
    outcome: task.outcome,
    entries: [...graph.entries],
    // A node with a route back is no sink, although the route may never be taken.
    sinks: task.definition.nodes.flatMap(({ id }) =>
      graph.outgoing(id).some(({ on }) => on === 'succeeded') ? [] : [id],
    ),
    nodes: task.definition.nodes.map((node) => nodeView(task, node)),
    ...(task.checkpoints && { checkpoints: [...task.checkpoints] }),
    ...(task.reviews && { reviews: task.reviews }),
    ...(task.artifact && { artifact: task.artifact }),
    ...(task.latestApproval && { latestApproval: task.latestApproval }),
    ...(task.onBehalfOf && { onBehalfOf: task.onBehalfOf }),
    ...(task.spent && { spent: task.spent }),
    ...(limits && { budget: limits }),
    ...(task.circuit && { circuit: task.circuit.name }),
    error: task.error,
  };
};
