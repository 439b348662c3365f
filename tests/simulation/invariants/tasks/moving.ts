import { isEndPhase } from '@holdpoint/contracts/task/status';
import { CIRCUIT_TIMER, replyTimer, retryTimer } from '@holdpoint/orchestrator/task/outgoing/outgoing';
import { type NodeState, nodeState, openQuestion, type Task } from '@holdpoint/orchestrator/task/model/state';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { stuckAt } from '@holdpoint/recovery/attempts/history';
import { isCircuit, type RecoveryChange, taskIn, tasksIn } from '../../event-states.ts';
import type { World } from '../../world.ts';

/** The timer that resends for a node which waits for recovery or for a person. */
const timerOf = (node: NodeId, { status }: NodeState): string | undefined => {
  switch (status) {
    case 'recovering':
    case 'escalated':
      return replyTimer(node);
    case 'retrying':
      return retryTimer(node);
    default:
      return undefined;
  }
};

/** A node that waits for recovery, a person or a circuit has a timer that resends. */
export const checkMoving = ({ checker, databases }: World, task: Task): void => {
  if (isEndPhase(task.phase)) return;
  const { timers } = databases.orchestrator.tables;
  const expectTimer = (name: string, what: () => string): void =>
    checker.expect(
      'a node that waits for recovery or an answer has a timer that resends',
      timers.has(`${task.id}/${name}`),
      task.id,
      () => `no timer ${name}: ${what()}`,
    );
  if (task.circuit?.state === 'waiting') expectTimer(CIRCUIT_TIMER, () => JSON.stringify(task.circuit));
  for (const { id } of task.definition.nodes) {
    const state = nodeState(task, id);
    const timer = timerOf(id, state);
    if (timer !== undefined) expectTimer(timer, () => JSON.stringify(state));
    if (state.status === 'escalated')
      checker.expect(
        'every job that waits for a person has a question',
        openQuestion(state) !== undefined || state.inDoubt?.answered !== undefined,
        task.id,
        () => `${id}: ${JSON.stringify(state)}`,
      );
  }
};

/** The jobs of a task on recovery's list of stuck jobs. */
const listed = ({ books }: World, task: string): readonly (readonly [NodeId, number])[] => {
  const state = books.recovery.stateOf(task);
  if (state === undefined || isCircuit(state)) return [];
  const nodes = Object.keys(state.stuck ?? {}) as NodeId[];
  return nodes.flatMap((id) => {
    const attempt = stuckAt(state, id);
    return attempt === undefined ? [] : [[id, attempt] as const];
  });
};

/** A late report on an earlier attempt does not change the entry of a later one. */
export const checkLateNews = (
  { checker }: World,
  { aggregate, before, event, after }: RecoveryChange,
): void => {
  if (event.type !== 'assessed' && event.type !== 'attempt_recorded') return;
  if (before === undefined || after === undefined || isCircuit(before) || isCircuit(after)) return;
  const { node, attempt } = event;
  const stuck = stuckAt(before, node);
  if (stuck === undefined || stuck <= attempt) return;
  checker.expect(
    'a late report on an earlier attempt does not unlist a later one',
    stuckAt(after, node) === stuck,
    aggregate,
    () => `${event.type} ${node} ${String(attempt)}: ${String(stuck)} was stuck`,
  );
};

export const checkStuck = (world: World): void => {
  const { checker, books } = world;
  for (const task of tasksIn(books))
    for (const { id } of task.definition.nodes) {
      const { status, verdict, attempt } = nodeState(task, id);
      if (status !== 'escalated' || verdict === undefined) continue;
      checker.expect(
        'the list of stuck jobs has every job that recovery gave up',
        listed(world, task.id).some(([node, number]) => node === id && number === attempt),
        task.id,
        () => `${id} ${String(attempt)} is not: ${JSON.stringify({ verdict, list: listed(world, task.id) })}`,
      );
    }
};

/** Recovery asks about listed jobs from time to time, so that finally the list is correct. */
export const checkStuckList = (world: World): void => {
  const { checker, books } = world;
  checkStuck(world);
  for (const [aggregate] of books.recovery.states)
    for (const [node, attempt] of listed(world, aggregate)) {
      const task = taskIn(books, aggregate);
      const state = task && nodeState(task, node);
      checker.expect(
        'the list of stuck jobs has no job that is not stuck',
        state?.status === 'escalated' && state.attempt === attempt,
        aggregate,
        () => `${node} ${String(attempt)}: ${JSON.stringify(state)}`,
      );
    }
};
