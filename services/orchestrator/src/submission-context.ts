import type { SubmitTask } from '@holdpoint/contracts/task/commands';

/** Facts about a submission that the decider does not have. */
export type SubmissionContext = {
  /** Circuits of workflows that are not closed: their tasks must ask before they start. */
  readonly openCircuits: () => readonly string[];
  /** Adds the registered program to a submission that names one. */
  readonly withProgram: (submission: SubmitTask) => SubmitTask;
  /** Whether the named workflow is certainly known or unknown. A refusal is final, so it must be certain. */
  readonly isCertain: (submission: SubmitTask) => boolean;
};
export const EMPTY_CONTEXT: SubmissionContext = {
  openCircuits: () => [],
  withProgram: (submission) => submission,
  isCertain: () => true,
};
