import { isEndPhase } from '@holdpoint/contracts/task/status';
import { artifactLabel, scopeOf } from '@holdpoint/contracts/workflow/artifact';
import {
  hasEnded,
  nodeDefinition,
  nodeState,
  openQuestion,
  outcomeOf,
  type Task,
} from '@holdpoint/orchestrator/task/model/state';
import { isCommit, workflowIndex } from '@holdpoint/orchestrator/task/model/workflow-index';
import { graphOf } from '@holdpoint/workflows/graph/graph';
import { circuitIdOf, type NodeId } from '@holdpoint/contracts/values/ids';
import { isCircuit, taskIn, tasksIn } from '../../event-states.ts';
import type { World } from '../../world.ts';

import { checkStuck } from './moving.ts';

/** Why a node may wait after every user has responded and nothing is in progress, or undefined. */
const excuseOf = (world: World, task: Task, node: NodeId): string | undefined => {
  const { status, wait, gate } = nodeState(task, node);
  if (task.circuit?.state === 'waiting')
    return isCircuitOpen(world, task.circuit.name) ? 'its workflow may not start' : undefined;
  switch (status) {
    case 'idle': {
      const before = graphOf(task.definition).incoming(node);
      return before.some(({ from }) => !hasEnded(nodeState(task, from))) ? 'another node waits' : undefined;
    }
    case 'waiting':
      if (wait?.kind === 'dependencies') return peerIsOpen(world, task);
      return wait?.kind === 'artifacts' ? artifactIsMissing(world, task, node) : undefined;
    case 'awaiting_approval':
      return excuseOfQuestion(world, gate?.approval);
    case 'escalated':
      return excuseOfQuestion(world, openQuestion(nodeState(task, node)));
    case 'recovering': {
      const { preparation: mending } = nodeState(task, node);
      const rollback = mending?.kind === 'rollback' ? taskIn(world.books, mending.by) : undefined;
      return rollback !== undefined && !isEndPhase(rollback.phase) ? 'it is taken back first' : undefined;
    }
    default:
      return undefined;
  }
};

/** A request that a person can still decide excuses a wait. */
export const excuseOfQuestion = ({ books }: World, request = ''): string | undefined =>
  books.approvals.stateOf(request).status === 'pending' ? 'a person has an open question' : undefined;

const isCircuitOpen = ({ books }: World, circuit: string): boolean => {
  const state = books.recovery.stateOf(circuitIdOf(circuit));
  return isCircuit(state) && state.state !== 'closed';
};

const peerIsOpen = ({ books }: World, task: Task): string | undefined =>
  Object.entries(task.peers).some(([peer, outcome]) => {
    const [id, node] = peer.split('/') as [string, NodeId?];
    const other = taskIn(books, id);
    if (outcome !== null || other === undefined) return false;
    return node === undefined ? !isEndPhase(other.phase) : !hasEnded(nodeState(other, node));
  })
    ? 'another task waits'
    : undefined;

/** Other tasks see an artifact of the repository in a commit: it is open until the next commit has ended. */
const isUncommitted = (task: Task, maker: NodeId): boolean =>
  workflowIndex(task.definition)
    .giversAfter(maker)
    .some((id) => isCommit(nodeDefinition(task, id)) && !hasEnded(nodeState(task, id)));

const makersOf = (task: Task, label: string): readonly { readonly made: boolean; readonly open: boolean }[] =>
  task.definition.nodes.flatMap(({ id, produces = {} }) =>
    Object.entries(produces).flatMap(([on, artifacts]) => {
      const artifact = artifacts?.find((each) => artifactLabel(each) === label);
      if (artifact === undefined) return [];
      const state = nodeState(task, id);
      const open = !hasEnded(state) || (scopeOf(artifact) === 'repository' && isUncommitted(task, id));
      return [{ made: outcomeOf(state) === on, open }];
    }),
  );

/** An open node produces it, or none does and the policy is to wait. */
const artifactIsMissing = ({ books, target }: World, task: Task, node: NodeId): string | undefined => {
  const neighbours = tasksIn(books).filter(({ repository }) => repository === task.repository);
  const waits = task.definition.policy?.missingProducer === 'wait';
  return (nodeDefinition(task, node).needs ?? []).some((artifact) => {
    const label = artifactLabel(artifact);
    const others = scopeOf(artifact) === 'run' ? [task] : neighbours;
    const makers = others.flatMap((other) => makersOf(other, label));
    const there =
      artifact.type === 'custom' ? makers.some(({ made }) => made) : target.has(task.repository ?? '', label);
    // An open producer of the same task counts before an existing artifact.
    const own = makersOf(task, label).some(({ open }) => open);
    return own || (!there && (waits || makers.some(({ open }) => open)));
  })
    ? 'an artifact is missing'
    : undefined;
};

/** Long after the last event: each open task has a reason to wait. Returns the open ones. */
export const checkWaiting = (world: World): readonly Task[] => {
  checkStuck(world);
  const open = tasksIn(world.books).filter(({ phase }) => !isEndPhase(phase));
  for (const task of open) {
    const nodes = task.definition.nodes
      .map(({ id }) => ({ id, state: nodeState(task, id) }))
      .filter(({ state }) => !hasEnded(state));
    const stuck = nodes.find(({ id }) => excuseOf(world, task, id) === undefined);
    world.checker.expect(
      'a node that waits forever has a person, a task or a missing artifact as its reason',
      stuck === undefined && nodes.length > 0,
      task.id,
      () => `${task.phase}, ${JSON.stringify(stuck)}`,
    );
  }
  return open;
};
