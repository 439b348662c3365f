import type { RequestFacts } from '@holdpoint/contracts/approval/commands';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { nodeDefinition, nodeState, type Task } from '../model/state.ts';

const GOAL_MAX = 4_000;
const CRITERION_MAX = 1_000;
const CRITERIA_MAX = 20;
const HINT_MAX = 2_000;

const cut = (text: string, length: number): string => text.slice(0, length).toWellFormed();

/** The facts of a request: the same for all of its resends. */
export const requestFacts = (task: Task, node: NodeId): RequestFacts => {
  const { goal, acceptanceCriteria, onBehalfOf } = task;
  const { attempt, gate, inDoubt } = nodeState(task, node);
  const { reviews, artifact } = gate?.asked ?? {};
  const hint = nodeDefinition(task, node).effect?.rollbackHint;
  return {
    goal: cut(goal, GOAL_MAX),
    ...(acceptanceCriteria.length > 0 && {
      acceptanceCriteria: acceptanceCriteria.slice(0, CRITERIA_MAX).map((text) => cut(text, CRITERION_MAX)),
    }),
    // Other nodes may change the phase before a resend.
    phase: inDoubt === undefined ? 'awaiting_approval' : 'paused',
    attempt,
    ...(reviews && { reviews }),
    ...(artifact && { artifact }),
    ...(hint !== undefined && { rollbackHint: cut(hint, HINT_MAX) }),
    ...(onBehalfOf && { onBehalfOf }),
  };
};
