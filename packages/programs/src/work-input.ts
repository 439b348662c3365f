import type { WorkGiven } from '@holdpoint/contracts/program/work';
import type { Program } from './state.ts';

/** All that a worker needs of the task for the phase that it has come to. */
export const givenFor = (task: Program): WorkGiven => {
  const { state, inputs, goal, requestedBy, repository, entries, failures, retried, answer, paused } = task;
  const responding = task.activation === 'respond';
  return {
    state: (responding ? paused?.state : retried) ?? state,
    inputs,
    goal,
    requestedBy,
    ...(repository !== undefined && { repository }),
    entries: [...entries],
    failures: [...failures],
    ...(retried !== undefined && { retried: true }),
    ...(responding && paused !== undefined && { question: paused.asks }),
    ...(responding && paused?.output !== undefined && { output: paused.output }),
    ...(responding && answer !== undefined && { answer }),
  };
};
