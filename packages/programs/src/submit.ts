import { errorBody } from '@holdpoint/contracts/values/errors';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import { digestOf } from '@holdpoint/contracts/values/json';
import { type ProgramDefinition, programHash } from '@holdpoint/contracts/program/definition';
import { STATE_MAX_BYTES } from '@holdpoint/contracts/program/work';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import { type Decision, refused } from '@holdpoint/runtime/decider';
import { createDecisionBuilder } from './decision-builder.ts';
import type { ForkProgram } from './messages.ts';
import type { ProgramTiming } from './timing.ts';
import { orderPhase } from './order-phase.ts';
import { bytesOf, stateTooLarge } from './size-limits.ts';
import { effectsOf, phaseOf, type ProgramTaskEvent, type ProgramState } from './state.ts';

const conflict = (task: TaskId): Decision<never> =>
  refused(errorBody('ORCHESTRATOR_TASK_CONFLICT', `task ${task} exists with other content: use another id`));

/** Problems of a program beyond its schema. */
export const programProblems = ({ initial, phases }: ProgramDefinition): readonly string[] => {
  const names = phases.map(({ id }) => id);
  const twice = names.filter((name, place) => names.indexOf(name) !== place);
  const unknown = phases.flatMap((phase) =>
    phase.type === 'terminal'
      ? []
      : (phase.next ?? [])
          .filter((name) => !names.includes(name))
          .map((name) => `${phase.id} leads to ${name}`),
  );
  return [
    ...twice.map((name) => `duplicate phase ${name}`),
    ...unknown.map((leads) => `${leads}, which does not exist`),
    ...(names.includes(initial) ? [] : [`the initial phase ${initial} does not exist`]),
    ...(phases.some(({ type }) => type === 'terminal') ? [] : ['no phase is terminal']),
  ];
};

/**
 * Starts a new task. A repeat is answered with the existing task; other content under the same id is refused.
 */
export const submit = (
  state: ProgramState,
  task: TaskId,
  program: ProgramDefinition,
  submission: SubmitTask,
  now: number,
  timing: ProgramTiming,
): Decision<ProgramTaskEvent> => {
  const {
    goal,
    acceptanceCriteria = [],
    inputs = {},
    requestedBy = 'unknown',
    agent,
    repository,
  } = submission;
  const { id: _, ...content } = submission;
  const contentDigest = digestOf({ ...content, program, acceptanceCriteria, inputs, requestedBy });
  const builder = createDecisionBuilder(state, task, now, timing);
  if (state.phase !== 'absent')
    return state.contentDigest === contentDigest ? builder.done() : conflict(task);
  const problems = programProblems(program);
  if (problems.length > 0)
    return refused(
      errorBody('ORCHESTRATOR_PROGRAM_INVALID', `invalid program: ${problems.join('; ')}`, {
        problems: [...problems],
      }),
    );
  if (bytesOf(inputs) > STATE_MAX_BYTES) return refused(stateTooLarge());
  builder.emit({
    type: 'program_submitted',
    goal,
    acceptanceCriteria,
    inputs,
    requestedBy,
    ...(agent !== undefined && { agent }),
    program,
    hash: programHash(program),
    // The inputs are the initial state; the worker checks them against the schema.
    state: inputs,
    ...(repository !== undefined && { repository }),
    at: now,
    contentDigest,
  });
  orderPhase(builder);
  return builder.done();
};

/** Starts a task at the current phase of another. */
export const fork = (
  state: ProgramState,
  { task, origin, version, by }: ForkProgram,
  now: number,
  timing: ProgramTiming,
): Decision<ProgramTaskEvent> => {
  const contentDigest = digestOf({ forkedFrom: origin.id, version, by });
  const builder = createDecisionBuilder(state, task, now, timing);
  if (state.phase !== 'absent')
    return state.contentDigest === contentDigest ? builder.done() : conflict(task);
  const { goal, acceptanceCriteria, inputs, program, hash, repository, node } = origin;
  const isLast = phaseOf(origin, node) === undefined;
  builder.emit({
    type: 'program_submitted',
    goal,
    acceptanceCriteria: [...acceptanceCriteria],
    inputs,
    requestedBy: by,
    program,
    hash,
    state: origin.state,
    ...(repository !== undefined && { repository }),
    forkedFrom: {
      task: origin.id,
      version,
      node: isLast ? program.initial : node,
      entries: effectsOf(origin).filter(({ ended }) => ended?.outcome === 'succeeded'),
    },
    at: now,
    contentDigest,
  });
  orderPhase(builder);
  return builder.done();
};
