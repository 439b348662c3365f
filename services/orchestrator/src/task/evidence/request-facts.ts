import type { RequestFacts } from '@holdpoint/contracts/approval/commands';
import { shownCriteria, shownGoal } from '@holdpoint/contracts/approval/facts-text';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { nodeDefinition, nodeState, type Task } from '../model/state.ts';

const HINT_MAX = 2_000;

/** The facts of a request: the same for all of its resends. */
export const requestFacts = (task: Task, node: NodeId): RequestFacts => {
  const { goal, acceptanceCriteria, onBehalfOf } = task;
  const criteria = shownCriteria(acceptanceCriteria);
  const { attempt, gate, inDoubt } = nodeState(task, node);
  const hint = nodeDefinition(task, node).effect?.rollbackHint;
  return {
    goal: shownGoal(goal),
    ...(criteria && { acceptanceCriteria: criteria }),
    // Other nodes may change the phase before a resend.
    phase: inDoubt === undefined ? 'awaiting_approval' : 'paused',
    attempt,
    ...gate?.evidence,
    ...(hint !== undefined && { rollbackHint: hint.slice(0, HINT_MAX).toWellFormed() }),
    ...(onBehalfOf && { onBehalfOf }),
  };
};
