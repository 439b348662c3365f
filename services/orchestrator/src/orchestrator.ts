import type { RegistryEvent } from '@holdpoint/contracts/task/registry';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { WorkRequest } from '@holdpoint/contracts/program/work';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { programDecider } from '@holdpoint/programs/decide';
import type { ForkProgram } from '@holdpoint/programs/messages';
import { isProgram, type Program, type ProgramTaskEvent, type ProgramState } from '@holdpoint/programs/state';
import { type Decider, type Decision, decision, refused, type TimerFired } from '@holdpoint/runtime/decider';
import { registryDecider, type RegistryMessage } from './registry/decide.ts';
import type { Registry } from './registry/state.ts';
import { taskDecider } from './task/decide.ts';
import type { TaskMessage } from './task/model/messages.ts';
import { cancelledBefore } from './task/submit.ts';
import { asProgramMessage } from './program/program-messages.ts';
import { type Absent, absent, type Task, type TaskState } from './task/model/state.ts';

/** What the orchestrator keeps: tasks, those of programs among them, and a board for each repository. Their ids never coincide. */
export type OrchestratorState = Absent | Task | Program | Registry;
/** What a worker says of its work. */
export type WorkMessage = { readonly kind: 'work'; readonly payload: WorkRequest };
export type OrchestratorMessage = TaskMessage | WorkMessage | ForkProgram | Exclude<RegistryMessage, TimerFired>;
export type OrchestratorEvent = TaskEvent | ProgramTaskEvent | RegistryEvent;

const isOfBoard = (event: OrchestratorEvent): event is RegistryEvent => event.type.startsWith('board_');
const isBoard = (state: OrchestratorState): state is Registry => state.phase === 'board';

/** A task whose workflow is a graph, or none yet. */
export const isTask = (state: OrchestratorState): state is TaskState => !isBoard(state) && !isProgram(state);

/** Whether it is, or is to be, a task of a program. */
const isOfProgram = (state: OrchestratorState, message: OrchestratorMessage): boolean => {
  if (isProgram(state)) return true;
  if (state.phase === 'absent' && state.tombstone) return false;
  if (message.kind === 'work' || message.kind === 'fork_program') return state.phase === 'absent';
  return state.phase === 'absent' && message.kind === 'submit' && message.payload.program !== undefined;
};

const decideProgram = (
  state: ProgramState,
  message: OrchestratorMessage,
  at: Parameters<typeof programDecider.decide>[2],
): Decision<ProgramTaskEvent> => {
  const known = asProgramMessage(message);
  if (known === 'nothing') return decision({});
  return 'error' in known ? refused(known.error) : programDecider.decide(state, known, at);
};

/** The kinds of aggregates behind one decider: a message says by its kind, or by what it finds, which of them it is about. */
export const createOrchestratorDecider = (
  tasks: Decider<TaskState, TaskMessage, TaskEvent> = taskDecider,
): Decider<OrchestratorState, OrchestratorMessage, OrchestratorEvent> => ({
  initial: absent,
  evolve: (state, event) => {
    if (isOfBoard(event)) {
      if (state.phase !== 'absent' && !isBoard(state)) throw new Error('a task is no board');
      return registryDecider.evolve(state, event);
    }
    if (isBoard(state)) throw new Error('a board is no task');
    if (event.type === 'program_submitted') return programDecider.evolve(programDecider.initial, event);
    if (isProgram(state)) return programDecider.evolve(state, event as ProgramTaskEvent);
    return tasks.evolve(state, event as TaskEvent);
  },
  decide: (state, message, at) => {
    if (message.kind === 'registry' || (message.kind === 'timer' && isBoard(state))) {
      if (state.phase !== 'absent' && !isBoard(state)) throw new Error('a task is no board');
      return registryDecider.decide(state, message, at);
    }
    if (isBoard(state)) throw new Error('a board is no task');
    if (isOfProgram(state, message)) return decideProgram(state as ProgramState, message, at);
    if (message.kind === 'work')
      return refused(errorBody('ORCHESTRATOR_WORK_LOST', `task ${message.payload.task} is no program`));
    if (message.kind === 'fork_program' && state.phase === 'absent') return cancelledBefore(message.task);
    if (message.kind === 'fork_program')
      return refused(
        errorBody(
          'ORCHESTRATOR_TASK_CONFLICT',
          `task ${message.task} was submitted before with other content`,
        ),
      );
    return tasks.decide(state as TaskState, message, at);
  },
});

/** Every task and every board. */
export const orchestratorDecider = createOrchestratorDecider();
