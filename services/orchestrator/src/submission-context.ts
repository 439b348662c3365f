import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { Routed } from '@holdpoint/runtime/engine/inbound';
import type { OrchestratorMessage } from './aggregates.ts';
import type { Submission } from './task/model/messages.ts';
import { preparing } from './task/submit.ts';

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

/** A submission for the engine, of a program or of a graph. The definition of a large graph is checked before the decision. */
export const routedSubmission = (message: Submission): Routed<OrchestratorMessage> => {
  const { task, payload } = message;
  if (payload.program !== undefined) return { kind: 'program', aggregate: task, message };
  const prepare = preparing(message);
  return { kind: 'task', aggregate: task, message, ...(prepare !== undefined && { prepare }) };
};
