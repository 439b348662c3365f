import { isEndPhase } from '@holdpoint/contracts/task/status';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { RegistryEvent } from '@holdpoint/contracts/task/registry';
import { createProgramDecider } from '@holdpoint/programs/decide';
import type { ProgramState, ProgramTaskEvent } from '@holdpoint/programs/state';
import { type Decider, refused, type TimerFired } from '@holdpoint/runtime/decider';
import { SNAPSHOT_EVERY, snapshotEvery } from '@holdpoint/runtime/engine/core';
import type { Addressed, KindsOf } from '@holdpoint/runtime/engine/kinds';
import type { Lane } from '@holdpoint/runtime/host/lanes';
import { createProgramTaskDecider, type TaskRunMessage } from './program/program-task.ts';
import {
  programListing,
  programSummary,
  registrySummary,
  taskListing,
  taskSummary,
} from './queries/tasks.ts';
import { createRegistryDecider, type RegistryMessage } from './registry/decide.ts';
import { taskDecider } from './task/decide.ts';
import type { TaskMessage } from './task/model/messages.ts';
import type { TaskState } from './task/model/state.ts';
import { snapshotDue } from './task/snapshots.ts';
import { cancelledBefore } from './task/submit.ts';
import { orchestratorTiming, type Timing } from './timing.ts';

/**
 * A message to an aggregate of this service. A task runs a graph (`task`) or a program (`program`). Senders need not know
 * which: the kind counts only for a task that does not exist yet.
 */
export type OrchestratorMessage =
  | Addressed<'task' | 'program', TaskRunMessage>
  | Addressed<'registry', Exclude<RegistryMessage, TimerFired>>;
export type OrchestratorEvent = TaskEvent | ProgramTaskEvent | RegistryEvent;

/** Refuses the messages that only a program understands. */
const graphTaskDecider = (
  tasks: Decider<TaskState, TaskMessage, TaskEvent>,
): Decider<TaskState, TaskRunMessage, TaskEvent> => ({
  ...tasks,
  decide: (state, message, at) => {
    if (message.kind === 'work')
      return refused(errorBody('ORCHESTRATOR_WORK_LOST', `task ${message.payload.task} runs no program`));
    if (message.kind !== 'fork_program') return tasks.decide(state, message, at);
    if (state.phase === 'absent') return cancelledBefore(message.task);
    const text = `task ${message.task} exists with other content: use another id`;
    return refused(errorBody('ORCHESTRATOR_TASK_CONFLICT', text));
  },
});

const taskOf = (id: string, { phase }: TaskState | ProgramState): string | undefined =>
  phase === 'absent' ? undefined : id;
/** A submission waits for the tasks that are under way. */
const laneOf = ({ kind }: { readonly kind: string }): Lane => (kind === 'submit' ? 'next' : 'first');
const creates = ({ kind }: { readonly kind: string }): boolean => kind === 'submit';
const isOver = ({ phase }: TaskState | ProgramState): boolean => isEndPhase(phase);
const statusOf = ({ phase }: TaskState | ProgramState): string => phase;

/** The three kinds of aggregates of this service. */
export const orchestratorKinds = (
  tasks: Decider<TaskState, TaskMessage, TaskEvent> = taskDecider,
  { program, registry }: Pick<Timing, 'program' | 'registry'> = orchestratorTiming(),
) =>
  ({
    task: {
      publishedAs: 'task',
      announcesChanges: true,
      idSpace: 'task',
      decider: graphTaskDecider(tasks),
      sharedFields: ['gate'],
      summarise: taskSummary,
      listing: taskListing,
      snapshotDue,
      taskOf,
      creates,
      laneOf,
      isOver,
      statusOf,
    },
    program: {
      publishedAs: 'task',
      announcesChanges: true,
      idSpace: 'task',
      decider: createProgramTaskDecider(createProgramDecider(program)),
      summarise: programSummary,
      listing: programListing,
      snapshotDue: snapshotEvery(SNAPSHOT_EVERY),
      taskOf,
      creates,
      laneOf,
      isOver,
      statusOf,
    },
    registry: {
      publishedAs: 'task',
      decider: createRegistryDecider(registry),
      summarise: registrySummary,
      snapshotDue: snapshotEvery(SNAPSHOT_EVERY),
    },
  }) satisfies KindsOf<OrchestratorMessage, OrchestratorEvent, never>;
