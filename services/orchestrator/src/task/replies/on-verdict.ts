import { isGivingUp } from '@holdpoint/contracts/workflow/failure-class';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import type { RecoverTask } from '@holdpoint/contracts/task/commands';
import type { Outgoing } from '@holdpoint/runtime/decider';
import { assessFailure, reportUnstuck } from '../outgoing/recovery-requests.ts';
import { replyTimer, retryTimer } from '../outgoing/outgoing.ts';
import { recordResumeGrant, recordRefusedVerdict, refusedVerdictReason } from '../model/checkpoints.ts';
import { askInDoubt } from './in-doubt.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { releaseAttempt } from '../graph/ending.ts';
import { startHandoff } from './session-handoff.ts';
import { mayLoop, backRouteFor } from '../graph/loops.ts';
import { startWhenReady } from '../graph/start-when-ready.ts';
import { restartNodes } from '../graph/restart.ts';
import { startRollback } from './rollback.ts';
import { findNode, type NodeState, nodeState } from '../model/state.ts';
import { startReplyTimer } from '../graph/steps.ts';
import { askAboutStuckJob } from './stuck-job.ts';

/** Follows the verdict on a failed attempt. */
export const onVerdict = (builder: DecisionBuilder, suggestion: RecoverTask): void => {
  const { node, attempt, verdict } = suggestion;
  const state = findNode(builder.task(), node);
  if (state?.status !== 'recovering' || state.attempt !== attempt) {
    if (!isStuckAt(state, attempt)) replyStuckJob(builder, suggestion);
    return undefined;
  }
  // An earlier verdict is being followed.
  if (state.preparation !== undefined) return undefined;
  // An older verdict on the same attempt: operators decide about its latest failure.
  if (state.failure?.paused !== undefined && state.failure.paused !== verdict.reason) return undefined;
  // A repeat of the refused verdict: recovery has not heard of the refusal yet.
  if (!isGivingUp(verdict) && refusedVerdictReason(builder.task(), node, state) !== undefined)
    return undefined;
  switch (verdict.kind) {
    case 'retry':
      return retryAfterVerdict(builder, node, verdict);
    case 'skip':
    case 'escalate':
      return markStuck(builder, node, verdict);
    case 'rollback':
      return startRollback(builder, node, verdict, refuseVerdict);
    case 'continue':
      return startHandoff(builder, node, verdict);
  }
};

/** The reply to recovery, which lists the job as stuck although it is not. */
export const stuckJobReply = (
  { task, node, attempt, verdict }: RecoverTask,
  now: number,
): readonly Outgoing[] =>
  isGivingUp(verdict) ? [reportUnstuck({ task, node, attempt, resolution: 'ended' }, now)] : [];

export const replyStuckJob = (builder: DecisionBuilder, suggestion: RecoverTask): void => {
  for (const message of stuckJobReply(suggestion, builder.now)) builder.send(message);
};

const isStuckAt = (state: NodeState | undefined, attempt: number): boolean =>
  state?.status === 'escalated' && state.attempt === attempt && state.verdict !== undefined;

/** Another attempt: of the node itself, or along its route back. */
export const retryAfterVerdict = (builder: DecisionBuilder, node: NodeId, verdict: Verdict): void => {
  const task = builder.task();
  const state = nodeState(task, node);
  const { attempt } = state;
  const { delayMs, hint, reason } = verdict;
  const back = backRouteFor(task, node, verdict);
  if (back.length > 0 && !mayLoop(task, node))
    return refuseVerdict(builder, node, 'the retry budget of its template is used up');
  builder.timer({ clear: replyTimer(node) });
  recordResumeGrant(builder, node, `verdict of recovery: ${reason}`);
  if (back.length > 0) {
    const { hint: _, ...about } = verdict;
    return restartNodes(builder, back, { route: node, verdict: about, ...(hint !== undefined && { hint }) });
  }
  tryAgain(builder, node, verdict, attempt + 1);
  return builder.timer({ set: retryTimer(node), dueAt: builder.now + delayMs });
};

const tryAgain = (
  builder: DecisionBuilder,
  node: NodeId,
  { hint, ...verdict }: Verdict,
  attempt: number,
): void => {
  const before = nodeState(builder.task(), node);
  const { delayMs } = verdict;
  const told = hint !== undefined && { hint };
  builder.emit({ type: 'node_retrying', node, attempt, delayMs, verdict, ...told });
  releaseAttempt(builder, node, before);
};

/**
 * Asks for another verdict. Recovery then gives the job up and lists it as stuck: only recovery may do that.
 */
export const refuseVerdict = (builder: DecisionBuilder, node: NodeId, reason: string): void => {
  recordRefusedVerdict(builder, node, reason);
  builder.send(assessFailure(builder.task(), node, 0));
  startReplyTimer(builder, node);
};

/** The job is stuck until a person decides. */
const markStuck = (builder: DecisionBuilder, node: NodeId, { hint: _, ...verdict }: Verdict): void => {
  const { reason } = verdict;
  const state = nodeState(builder.task(), node);
  const { attempt, inDoubt, failure } = state;
  builder.timer({ clear: replyTimer(node) });
  builder.emit({ type: 'node_escalated', node, attempt, reason, verdict });
  releaseAttempt(builder, node, state);
  if (inDoubt !== undefined) askInDoubt(builder, node, inDoubt, failure?.error.message ?? reason);
  else askAboutStuckJob(builder, node);
};

export const onRetryDue = (builder: DecisionBuilder, node: NodeId): void => {
  const state = nodeState(builder.task(), node);
  if (state.status !== 'retrying') return;
  if (builder.task().pausedByHand || state.paused === true)
    return builder.timer({ set: retryTimer(node), dueAt: builder.now + builder.timing.pausedRetryMs });
  startWhenReady(builder, node);
};
