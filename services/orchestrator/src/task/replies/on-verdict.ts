import { isGivingUp } from '@holdpoint/contracts/workflow/failure-class';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import type { RecoverTask } from '@holdpoint/contracts/task/commands';
import type { Outgoing } from '@holdpoint/runtime/decider';
import { askRecovery, replyTimer, retryTimer, settleJob } from '../outgoing/outgoing.ts';
import { grantResume, noteRefusal, refusalOf } from '../model/checkpoints.ts';
import { askPeople } from './in-doubt.ts';
import type { Draft } from '../model/decision-builder.ts';
import { giveBack } from '../graph/ending.ts';
import { handOn } from './session-handoff.ts';
import { mayLeadBack, wayBack } from '../graph/loops.ts';
import { proceed } from '../graph/start-when-ready.ts';
import { rewind } from '../graph/rewind.ts';
import { rollBack } from './rollback.ts';
import { findNode, type NodeState, nodeState } from '../model/state.ts';
import { awaitReply } from '../graph/steps.ts';
import { askWhatBecomes } from './stuck-job.ts';

/** Carries out what recovery suggests for the attempt that failed. */
export const recover = (draft: Draft, suggestion: RecoverTask): void => {
  const { node, attempt, verdict } = suggestion;
  const state = findNode(draft.task(), node);
  if (state?.status !== 'recovering' || state.attempt !== attempt) {
    if (!isStuckAt(state, attempt)) settleEnded(draft, suggestion);
    return undefined;
  }
  // What a verdict leads to is under way.
  if (state.mending !== undefined) return undefined;
  // It comes again, and recovery has yet to hear that it cannot be done.
  if (!isGivingUp(verdict) && refusalOf(draft.task(), node, state) !== undefined) return undefined;
  switch (verdict.kind) {
    case 'retry':
      return again(draft, node, verdict);
    case 'skip':
    case 'escalate':
      return giveUp(draft, node, verdict);
    case 'rollback':
      return rollBack(draft, node, verdict, refuseVerdict);
    case 'continue':
      return handOn(draft, node, verdict);
  }
};

/** Recovery asks from time to time whether a job is still stuck. */
export const settled = ({ task, node, attempt, verdict }: RecoverTask, now: number): readonly Outgoing[] =>
  isGivingUp(verdict) ? [settleJob({ task, node, attempt, how: 'ended' }, now)] : [];

export const settleEnded = (draft: Draft, suggestion: RecoverTask): void => {
  for (const message of settled(suggestion, draft.now)) draft.send(message);
};

const isStuckAt = (state: NodeState | undefined, attempt: number): boolean =>
  state?.status === 'escalated' && state.attempt === attempt && state.verdict !== undefined;

/** Another attempt: of the node itself, or along its route back to what it checks. */
export const again = (draft: Draft, node: NodeId, verdict: Verdict): void => {
  const task = draft.task();
  const state = nodeState(task, node);
  const { attempt } = state;
  const { delayMs, hint, reason } = verdict;
  const back = wayBack(task, node, verdict);
  if (back.length > 0 && !mayLeadBack(task, node))
    return refuseVerdict(draft, node, 'its template allows no more attempts');
  draft.timer({ clear: replyTimer(node) });
  grantResume(draft, node, `a verdict lets it go on: ${reason}`);
  if (back.length > 0) {
    const { hint: _, ...about } = verdict;
    return rewind(draft, back, { route: node, verdict: about, ...(hint !== undefined && { hint }) });
  }
  tryAgain(draft, node, verdict, attempt + 1);
  return draft.timer({ set: retryTimer(node), dueAt: draft.now + delayMs });
};

const tryAgain = (draft: Draft, node: NodeId, { hint, ...verdict }: Verdict, attempt: number): void => {
  const before = nodeState(draft.task(), node);
  const { delayMs } = verdict;
  const told = hint !== undefined && { hint };
  draft.emit({ type: 'node_retrying', node, attempt, delayMs, verdict, ...told });
  giveBack(draft, node, before);
};

/** What recovery has said cannot be done. It gives the job up then, and has it on its list: only it does so. */
export const refuseVerdict = (draft: Draft, node: NodeId, reason: string): void => {
  noteRefusal(draft, node, reason);
  draft.send(askRecovery(draft.task(), node, 0));
  awaitReply(draft, node);
};

/** Nothing tries it again by itself: a person decides. */
const giveUp = (draft: Draft, node: NodeId, { hint: _, ...verdict }: Verdict): void => {
  const { reason } = verdict;
  const state = nodeState(draft.task(), node);
  const { attempt, doubt, failure } = state;
  draft.timer({ clear: replyTimer(node) });
  draft.emit({ type: 'node_escalated', node, attempt, reason, verdict });
  giveBack(draft, node, state);
  if (doubt !== undefined) askPeople(draft, node, doubt, failure?.error.message ?? reason);
  else askWhatBecomes(draft, node);
};

/** The delay of a granted retry is over. */
export const retryDue = (draft: Draft, node: NodeId): void => {
  const state = nodeState(draft.task(), node);
  if (state.status !== 'retrying') return;
  if (draft.task().pausedByHand || state.paused === true)
    return draft.timer({ set: retryTimer(node), dueAt: draft.now + PAUSED_RETRY_MS });
  proceed(draft, node);
};

/** How often a retry that fell due during a pause looks whether the pause is over. */
const PAUSED_RETRY_MS = 5_000;
