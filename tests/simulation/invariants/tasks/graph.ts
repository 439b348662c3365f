import { type Artifact, artifactLabel, scopeOf } from '@holdpoint/contracts/workflow/artifact';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import { nodeDefinition, nodeState, outcomeOf, type Task } from '@holdpoint/orchestrator/task/model/state';
import { graphOf } from '@holdpoint/workflows/graph/graph';
import type { TaskChange } from '../../event-states.ts';
import type { MadeBy } from '../../services/stage-effects.ts';
import type { World } from '../../world.ts';

const BUDGET = 3;

/** The events with which a node starts. `inspect` and `preview` come earlier, but after the predecessors. */
const BEGINS: ReadonlySet<TaskEvent['type']> = new Set([
  'step_ordered',
  'effect_ordered',
  'approval_requested',
  'locks_requested',
  'node_started',
]);

/** Every success edge to the node was taken, or one of the other edges. */
const mayRun = (task: Task, node: NodeId): boolean => {
  const incoming = graphOf(task.definition).incoming(node);
  if (incoming.length === 0) return Object.values(task.peers).every((outcome) => outcome === 'succeeded');
  const taken = ({ from, on }: (typeof incoming)[number]): boolean => outcomeOf(nodeState(task, from)) === on;
  const ways = incoming.filter(({ on }) => on === 'succeeded');
  return (
    incoming.some((edge) => edge.on !== 'succeeded' && taken(edge)) || (ways.length > 0 && ways.every(taken))
  );
};

const makes = ({ produces = {} }: NodeDefinition, outcome: string | undefined, label: string): boolean =>
  Object.entries(produces).some(
    ([on, artifacts]) => on === outcome && artifacts?.some((each) => artifactLabel(each) === label) === true,
  );

const madeHere = (task: Task, label: string): boolean =>
  task.definition.nodes.some((node) => makes(node, outcomeOf(nodeState(task, node.id)), label));

/** Order, number and inputs of the nodes of every task. */
export const watchGraphs = ({ checker }: World) => {
  /** By repository and label: artifacts that any task has produced. */
  const made = new Set<string>();
  const loops = new Map<string, number>();

  const checkBegin = (task: Task, node: NodeId, what: string): void =>
    checker.expect(
      'a node starts only after its predecessors ended as its edges require',
      mayRun(task, node),
      task.id,
      () => `${what} of ${node}: ${JSON.stringify(statusesOf(task))}`,
    );

  const isThere = (task: Task, node: NodeId, artifact: Artifact): boolean => {
    const label = artifactLabel(artifact);
    if (madeHere(task, label)) return true;
    switch (scopeOf(artifact)) {
      case 'run':
        return false;
      case 'shared':
        return made.has(`${String(task.repository)} ${label}`);
      case 'repository':
        return nodeState(task, node).inspected?.artifacts[label] === true;
    }
  };

  /** After its start a node may lose an artifact to a new version. */
  const checkNeeds = (task: Task, node: NodeId): void => {
    const { status } = nodeState(task, node);
    if (status !== 'idle' && status !== 'waiting' && status !== 'retrying') return;
    for (const artifact of nodeDefinition(task, node).needs ?? [])
      checker.expect(
        'a node starts only with the artifacts that it needs',
        isThere(task, node, artifact),
        task.id,
        () => `${node} needs ${artifactLabel(artifact)}`,
      );
  };

  /** An artifact of the task comes from the latest attempt of its own producer. */
  const checkPayloads = (task: Task, node: NodeId, args: JsonObject): void => {
    const payloads = (args['payloads'] ?? {}) as Record<string, MadeBy>;
    for (const artifact of nodeDefinition(task, node).needs ?? []) {
      const label = artifactLabel(artifact);
      const payload = payloads[label];
      if (payload === undefined) continue;
      const [maker, by] = payload.by.split('/') as [string, NodeId];
      const own = maker === task.id;
      const state = own ? nodeState(task, by) : undefined;
      const current =
        state?.status === 'succeeded' &&
        (nodeDefinition(task, by).effect !== undefined || state.attempt === payload.attempt);
      const right = scopeOf(artifact) === 'run' || madeHere(task, label) ? own && current : true;
      checker.expect(
        'a node gets the latest artifacts of its own task',
        right,
        task.id,
        () => `${node} was given ${label} of ${payload.by}, attempt ${String(payload.attempt)}`,
      );
    }
  };

  const count = (task: Task, node: NodeId): void => {
    const key = `${task.id}/${node}`;
    const { retry, onError } = nodeDefinition(task, node);
    const most = Math.max(retry?.budget ?? BUDGET, onError?.maxRetries ?? 0);
    const by = (loops.get(key) ?? 0) + 1;
    loops.set(key, by);
    checker.expect(
      'loops and retries stay within their budget',
      by <= most,
      task.id,
      () => `${node} leads back for the ${String(by)}th time, ${String(most)} are allowed`,
    );
  };

  return ({ before, event, after }: TaskChange): void => {
    if (after.phase === 'absent' || before.phase === 'absent') return;
    if (BEGINS.has(event.type) && 'node' in event && event.node !== undefined) {
      checkBegin(before, event.node, event.type);
      const early = event.type === 'step_ordered' && EARLY.has(event.step);
      if (!early) checkNeeds(before, event.node);
      if (event.type === 'step_ordered' || event.type === 'approval_requested')
        checkPayloads(before, event.node, event.effect.args);
    }
    if (event.type === 'node_succeeded' && event.step === undefined && event.by === undefined)
      checkBegin(before, event.node, event.type);
    if (event.type === 'step_ordered') checkRound(before, event.node, event.step);
    if (event.type === 'restarted') {
      if (event.route !== undefined) count(after, event.route);
      else for (const node of event.nodes) loops.delete(`${after.id}/${node}`);
    }
    const isOwn =
      event.type === 'node_retrying' && event.verdict === undefined && event.command === undefined;
    if (isOwn && nodeState(before, event.node).status !== 'escalated') count(after, event.node);
    if ('node' in event && event.node !== undefined && after.repository !== undefined)
      noteMade(after, event.node, after.repository);
  };

  function noteMade(task: Task, node: NodeId, repository: string): void {
    const { produces = {} } = nodeDefinition(task, node);
    const outcome = outcomeOf(nodeState(task, node));
    if (outcome === undefined) return;
    for (const artifact of produces[outcome] ?? []) made.add(`${repository} ${artifactLabel(artifact)}`);
  }

  function checkRound(task: Task, node: NodeId, step: string): void {
    const [part, , round] = step.split('.');
    if (part !== 'run' || round === undefined) return;
    const budget = nodeDefinition(task, node).retry?.budget ?? BUDGET;
    checker.expect(
      'loops and retries stay within their budget',
      Number(round) <= budget,
      task.id,
      () => `${node} ${step}`,
    );
  }
};

const EARLY: ReadonlySet<string> = new Set(['inspect', 'preview']);

const statusesOf = (task: Task): Record<string, string> =>
  Object.fromEntries(task.definition.nodes.map(({ id }) => [id, nodeState(task, id).status]));
