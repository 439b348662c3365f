import type { SubmitTask } from '@holdpoint/contracts/task/commands';

/** What whoever takes a submission knows beside it. */
export type Known = {
  /** Circuits of workflows that are not closed: tasks of these ask before they start. */
  readonly open: () => readonly string[];
  /** The submission of a program by its name, with the program that the name stands for. */
  readonly named: (submission: SubmitTask) => SubmitTask;
  /** Whether it is certain by now what a submission names. To be told that there is no such workflow is final. */
  readonly isCertain: (submission: SubmitTask) => boolean;
};
export const NOTHING_KNOWN: Known = {
  open: () => [],
  named: (submission) => submission,
  isCertain: () => true,
};
