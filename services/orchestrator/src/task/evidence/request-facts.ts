import type { RequestFacts } from '@holdpoint/contracts/approval/commands';
import { shownCriteria, shownGoal } from '@holdpoint/contracts/approval/facts-text';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { TaskEvidence } from '@holdpoint/contracts/workflow/review';
import { nodeDefinition, nodeState, type Task } from '../model/state.ts';

const HINT_MAX = 2_000;

/** The latest reviews and artifact of a task; undefined when it has none. */
export const evidenceOf = ({ reviews, artifact }: TaskEvidence): TaskEvidence | undefined =>
  reviews === undefined && artifact === undefined
    ? undefined
    : { ...(reviews && { reviews }), ...(artifact && { artifact }) };

/** The facts of a request: the same for all of its resends. */
export const requestFacts = (task: Task, node: NodeId): RequestFacts => {
  const { goal, acceptanceCriteria, onBehalfOf } = task;
  const criteria = shownCriteria(acceptanceCriteria);
  const { attempt, gate, inDoubt } = nodeState(task, node);
  const { reviews, artifact } = gate?.evidence ?? {};
  const hint = nodeDefinition(task, node).effect?.rollbackHint;
  return {
    goal: shownGoal(goal),
    ...(criteria && { acceptanceCriteria: criteria }),
    // Other nodes may change the phase before a resend.
    phase: inDoubt === undefined ? 'awaiting_approval' : 'paused',
    attempt,
    ...(reviews && { reviews }),
    ...(artifact && { artifact }),
    ...(hint !== undefined && { rollbackHint: hint.slice(0, HINT_MAX).toWellFormed() }),
    ...(onBehalfOf && { onBehalfOf }),
  };
};
