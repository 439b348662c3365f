import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { StuckJob } from '@holdpoint/contracts/recovery/views';
import { type History, isFailure, isStuckBy, stuckAt, stuckJobOf } from './history.ts';

/** The latest report on a job, and whether it is still stuck; undefined when it was never given up. */
export const reportedJob = (
  history: History,
  node: NodeId,
): { readonly job: StuckJob; readonly stuck: boolean; readonly report: string } | undefined => {
  const last = history.attempts.filter(isFailure).findLast((each) => each.node === node && isStuckBy(each));
  if (last === undefined) return undefined;
  return {
    job: stuckJobOf(history, last),
    stuck: stuckAt(history, node) === last.attempt,
    report: last.verdict.report ?? last.verdict.reason,
  };
};
