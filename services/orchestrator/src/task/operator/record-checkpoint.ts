import { isEndPhase } from '@holdpoint/contracts/task/status';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { RecordCheckpoint } from '@holdpoint/contracts/task/commands';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { Decision } from '@holdpoint/runtime/decider';
import { recordCheckpoint } from '../model/checkpoints.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { findNode, nodeState } from '../model/state.ts';

/** Limit per attempt, so that notes cannot fill a task. */
const MARKS_MAX = 100;

/** Adds a note for the next operator. It changes nothing else. */
export const recordNote = (
  builder: DecisionBuilder,
  { node, attempt, name, note, payload, by = 'unknown', agent }: Omit<RecordCheckpoint, 'id'>,
): Decision<TaskEvent> => {
  const { id, phase } = builder.task();
  if (findNode(builder.task(), node) === undefined)
    return builder.done({ error: errorBody('ORCHESTRATOR_UNKNOWN_NODE', `task ${id} has no node ${node}`) });
  const { marks = [], attempt: current } = nodeState(builder.task(), node);
  if (attempt !== undefined && attempt !== current) {
    const message = `node ${node} is at attempt ${String(current)}, not ${String(attempt)}`;
    return builder.done({ error: errorBody('ORCHESTRATOR_ILLEGAL_IN_PHASE', message, { phase }) });
  }
  if (marks.includes(`noted.${name}`)) return builder.done();
  if (isEndPhase(phase) || marks.length >= MARKS_MAX) {
    const why = isEndPhase(phase) ? phase : `at its limit of ${String(MARKS_MAX)} checkpoints per attempt`;
    const message = `task ${id} is ${why}: nothing can be recorded`;
    return builder.done({ error: errorBody('ORCHESTRATOR_ILLEGAL_IN_PHASE', message, { phase }) });
  }
  recordCheckpoint(builder, node, {
    kind: 'noted',
    name,
    reason: note,
    ...(payload && { payload }),
    by,
    ...(agent !== undefined && { agent }),
  });
  return builder.done();
};
