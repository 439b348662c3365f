import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import type { Outcome } from '@holdpoint/contracts/workflow/workflow';
import { nodeDefinition, nodeState, type Task } from '../model/state.ts';
import { RETRY_BUDGET_DEFAULT } from './steps.ts';
import { workflowIndex } from '../model/workflow-index.ts';

/** The routes of a node back to nodes that have already run. */
export const backRoutes = (task: Task, node: NodeId, outcome: Outcome): readonly NodeId[] =>
  workflowIndex(task.definition)
    .graph.outgoing(node)
    .filter(({ on, loop }) => loop && on === outcome)
    .map(({ to }) => to);

/** Whether the retry budget allows one more round. */
export const mayLoop = (task: Task, node: NodeId): boolean =>
  (nodeState(task, node).loops ?? 0) < (nodeDefinition(task, node).retry?.budget ?? RETRY_BUDGET_DEFAULT);

/** For these failures the work itself must change, so a failed check leads back to the node that did it. */
const WANTS_OTHER_WORK: ReadonlySet<FailureClass> = new Set([
  'BROKEN_BUILD',
  'VERIFICATION_FAILED',
  'CIRCULAR_FIX',
  'UNKNOWN',
]);

/** The route that another attempt takes. Empty when the node itself is retried. */
export const backRouteFor = (
  task: Task,
  node: NodeId,
  verdict: Pick<Verdict, 'class'> | undefined,
): readonly NodeId[] => {
  const { failure } = nodeState(task, node);
  const isWork =
    failure?.result !== undefined && verdict !== undefined && WANTS_OTHER_WORK.has(verdict.class);
  return isWork ? backRoutes(task, node, 'failed') : [];
};
