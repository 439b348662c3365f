import { errorBody } from '@holdpoint/contracts/values/errors';
import type { RecordCheckpoint } from '@holdpoint/contracts/task/commands';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { Decision } from '@holdpoint/runtime/decider';
import { checkpoint } from '../model/checkpoints.ts';
import type { Draft } from '../model/decision-builder.ts';
import { isTerminal } from '../model/phases.ts';
import { findNode, nodeState } from '../model/state.ts';

/** Marks of one attempt at the most: nobody can fill a task with notes. */
const MARKS_MAX = 100;

/** Somebody leaves a note for whoever goes on with the task. It changes nothing of what the task does. */
export const record = (
  draft: Draft,
  { node, name, note, by = 'unknown', agent }: Omit<RecordCheckpoint, 'id'>,
): Decision<TaskEvent> => {
  const { id, phase } = draft.task();
  if (findNode(draft.task(), node) === undefined)
    return draft.done({ error: errorBody('ORCHESTRATOR_UNKNOWN_NODE', `task ${id} has no node ${node}`) });
  const { marks = [] } = nodeState(draft.task(), node);
  if (marks.includes(`noted.${name}`)) return draft.done();
  if (isTerminal(phase) || marks.length >= MARKS_MAX) {
    const why = isTerminal(phase) ? phase : `at its limit of ${String(MARKS_MAX)} checkpoints for an attempt`;
    const message = `task ${id} is ${why}: nothing can be recorded`;
    return draft.done({ error: errorBody('ORCHESTRATOR_ILLEGAL_IN_PHASE', message, { phase }) });
  }
  checkpoint(draft, node, { kind: 'noted', name, reason: note, by, ...(agent !== undefined && { agent }) });
  return draft.done();
};
