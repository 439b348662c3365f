import { isEndPhase } from '@holdpoint/contracts/task/status';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { CommandId } from '@holdpoint/contracts/values/ids';
import type { RecordReview } from '@holdpoint/contracts/task/commands';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { Decision } from '@holdpoint/runtime/decider';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { findNode } from '../model/state.ts';

/** Records a review of the work of a task. Approvers see the latest of each kind; it decides nothing. */
export const recordReview = (
  builder: DecisionBuilder,
  { id: _, by = 'unknown', ...text }: RecordReview,
  command: CommandId,
): Decision<TaskEvent> => {
  const { id, phase } = builder.task();
  const { node } = text;
  const state = node === undefined ? undefined : findNode(builder.task(), node);
  if (node !== undefined && state === undefined)
    return builder.done({ error: errorBody('ORCHESTRATOR_UNKNOWN_NODE', `task ${id} has no node ${node}`) });
  if (isEndPhase(phase)) {
    const message = `task ${id} is ${phase}: nothing can be recorded`;
    return builder.done({ error: errorBody('ORCHESTRATOR_ILLEGAL_IN_PHASE', message, { phase }) });
  }
  const review = { ...text, by, ...(state && { attempt: state.attempt }) };
  builder.emit({ type: 'review_recorded', review, command });
  return builder.done();
};
