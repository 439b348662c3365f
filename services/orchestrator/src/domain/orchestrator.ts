import type { BoardEvent } from '@holdpoint/contracts/board';
import type { TaskEvent } from '@holdpoint/contracts/task';
import type { Decider, TimerFired } from '@holdpoint/runtime/decider';
import { boardDecider, type BoardMessage } from './board/board.ts';
import type { Board } from './board/state.ts';
import { taskDecider } from './decide.ts';
import type { TaskMessage } from './messages.ts';
import { absent, type Task, type TaskState } from './state.ts';

/** What the orchestrator keeps: tasks, and a board for each repository that they work in. Their ids never coincide. */
export type OrchestratorState = { readonly phase: 'absent' } | Task | Board;
export type OrchestratorMessage = TaskMessage | Exclude<BoardMessage, TimerFired>;
export type OrchestratorEvent = TaskEvent | BoardEvent;

const isOfBoard = (event: OrchestratorEvent): event is BoardEvent => event.type.startsWith('board_');

export const isTask = (state: OrchestratorState): state is TaskState => state.phase !== 'board';

/** Both kinds of aggregate behind one decider: a message says by its kind, or by what it finds, which of them it is about. */
export const createOrchestratorDecider = (
  tasks: Decider<TaskState, TaskMessage, TaskEvent> = taskDecider,
): Decider<OrchestratorState, OrchestratorMessage, OrchestratorEvent> => ({
  initial: absent,
  evolve: (state, event) => {
    if (isOfBoard(event)) {
      if (state.phase !== 'absent' && state.phase !== 'board') throw new Error('a task is no board');
      return boardDecider.evolve(state, event);
    }
    if (!isTask(state)) throw new Error('a board is no task');
    return tasks.evolve(state, event);
  },
  decide: (state, message, at) => {
    if (message.kind === 'board' || (message.kind === 'timer' && !isTask(state))) {
      if (state.phase !== 'absent' && state.phase !== 'board') throw new Error('a task is no board');
      return boardDecider.decide(state, message, at);
    }
    if (!isTask(state)) throw new Error('a board is no task');
    return tasks.decide(state, message, at);
  },
});

/** Every task and every board. */
export const orchestratorDecider = createOrchestratorDecider();
