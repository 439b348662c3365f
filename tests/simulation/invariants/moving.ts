import { CIRCUIT_TIMER, replyTimer, retryTimer } from '@holdpoint/orchestrator/task/outgoing/outgoing';
import { isTerminal } from '@holdpoint/orchestrator/task/model/phases';
import { type NodeState, nodeState, type Task } from '@holdpoint/orchestrator/task/model/state';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { isCircuit } from '@holdpoint/recovery/attempts/decide';
import { stuckAt } from '@holdpoint/recovery/attempts/history';
import { type RecoveryChange, taskIn, tasksIn } from '../event-states.ts';
import type { World } from '../world.ts';

/** What asks again for a node that recovery, or a person, has to say something about. */
const timerOf = (node: NodeId, { status, stuck, inDoubt }: NodeState): string | undefined => {
  switch (status) {
    case 'recovering':
      return replyTimer(node);
    case 'retrying':
      return retryTimer(node);
    case 'escalated':
      // Where nobody is asked by name, whoever looks after tasks finds it by its phase.
      return stuck === undefined && inDoubt?.approval === undefined ? undefined : replyTimer(node);
    default:
      return undefined;
  }
};

/** Whoever waits for recovery, for a person or for a circuit has something that asks again, whatever becomes of the messages. */
export const checkMoving = ({ judge, databases }: World, task: Task): void => {
  if (isTerminal(task.phase)) return;
  const { timers } = databases.orchestrator.tables;
  const expectTimer = (name: string, what: () => string): void =>
    judge.expect(
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
  }
};

/** The jobs of a task that recovery has on its list. */
const listed = ({ books }: World, task: string): readonly (readonly [NodeId, number])[] => {
  const state = books.recovery.stateOf(task);
  if (isCircuit(state)) return [];
  const nodes = Object.keys(state.stuck ?? {}) as NodeId[];
  return nodes.flatMap((id) => {
    const attempt = stuckAt(state, id);
    return attempt === undefined ? [] : [[id, attempt] as const];
  });
};

/** What is heard late of an earlier attempt says nothing of a later one that was given up. */
export const checkLateNews = (
  { judge }: World,
  { aggregate, before, event, after }: RecoveryChange,
): void => {
  if (event.type !== 'assessed' && event.type !== 'attempt_recorded') return;
  if (isCircuit(before) || isCircuit(after)) return;
  const { node, attempt } = event;
  const stuck = stuckAt(before, node);
  if (stuck === undefined || stuck <= attempt) return;
  judge.expect(
    'a late report on an earlier attempt does not unlist a later one',
    stuckAt(after, node) === stuck,
    aggregate,
    () => `${event.type} ${node} ${String(attempt)}: ${String(stuck)} was stuck`,
  );
};

/** Whatever is stuck can be found, long after the last fault and after everything that was told. */
export const checkStuck = (world: World): void => {
  const { judge, books } = world;
  for (const task of tasksIn(books))
    for (const { id } of task.definition.nodes) {
      const { status, verdict, attempt } = nodeState(task, id);
      if (status !== 'escalated' || verdict === undefined) continue;
      judge.expect(
        'the list of stuck jobs has every job that recovery gave up',
        listed(world, task.id).some(([node, number]) => node === id && number === attempt),
        task.id,
        () => `${id} ${String(attempt)} is not: ${JSON.stringify({ verdict, list: listed(world, task.id) })}`,
      );
    }
};

/** In the end the list of stuck jobs says nothing that is not so: recovery asks from time to time, ever more rarely. */
export const checkStuckList = (world: World): void => {
  const { judge, books } = world;
  checkStuck(world);
  for (const [aggregate] of books.recovery.states)
    for (const [node, attempt] of listed(world, aggregate)) {
      const task = taskIn(books, aggregate);
      const state = task && nodeState(task, node);
      judge.expect(
        'the list of stuck jobs has no job that is not stuck',
        state?.status === 'escalated' && state.attempt === attempt,
        aggregate,
        () => `${node} ${String(attempt)}: ${JSON.stringify(state)}`,
      );
    }
};
