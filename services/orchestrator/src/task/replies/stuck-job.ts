import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import { StuckAnswer } from '@holdpoint/contracts/approval/commands';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { type CommandId, effectIdOf, jobOf, type NodeId, stuckIdOf } from '@holdpoint/contracts/values/ids';
import { HINT_MAX } from '@holdpoint/contracts/recovery/verdict';
import { requestStuckAnswer } from '../outgoing/approval-requests.ts';
import { replyTimer, retryTimer } from '../outgoing/outgoing.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { endNode, releaseNode } from '../graph/ending.ts';
import { type NodeState, nodeDefinition, nodeState, type Task } from '../model/state.ts';
import { startReplyTimer } from '../graph/steps.ts';
import { backRouteFor } from '../graph/loops.ts';
import { startWhenReady } from '../graph/start-when-ready.ts';
import { restartNodes } from '../graph/restart.ts';

/** A stuck job in the form of an effect, because people decide about effects. It is never executed. */
const jobAsEffect = (task: Task, node: NodeId): CanonicalEffect => {
  const { attempt, verdict, reason = '' } = nodeState(task, node);
  return {
    task: task.id,
    node,
    uses: nodeDefinition(task, node).uses,
    args: { class: verdict?.class ?? 'UNKNOWN', reason },
    kind: 'other',
    effectClass: 'idempotent',
    target: `job:${jobOf(task.id, node)}`,
    idempotencyKey: `stuck:${String(attempt)}`,
  };
};

export const askAboutStuckJob = (builder: DecisionBuilder, node: NodeId): void => {
  const { id: task } = builder.task();
  const { attempt, questions = 0 } = nodeState(builder.task(), node);
  const effect = jobAsEffect(builder.task(), node);
  const question = questions + 1;
  builder.emit({
    type: 'stuck_asked',
    node,
    attempt,
    approval: stuckIdOf(task, node, question),
    effectId: effectIdOf(task, node, effect.idempotencyKey),
    effect,
    digest: effectDigest(effect),
    question,
  });
  builder.send(requestStuckAnswer(builder.task(), node, 0));
  startReplyTimer(builder, node);
};

/** Applies the answer. An unanswered question is asked again. */
export const onStuckAnswer = (builder: DecisionBuilder, event: ApprovalResolved, state: NodeState): void => {
  const { node, by, comment } = event;
  const { attempt, status, stuck } = state;
  if (status !== 'escalated' || stuck === undefined) return;
  const answer = StuckAnswer.safeParse(event.answer).data;
  if (event.outcome !== 'answered' || answer === undefined) return askAboutStuckJob(builder, node);
  builder.timer({ clear: replyTimer(node) });
  builder.emit({ type: 'stuck_answered', node, attempt, approval: event.id, answer, by, comment });
  const said = comment === undefined ? `${by} said so` : `${by}: ${comment}`;
  switch (answer) {
    case 'retry':
      return retryByPerson(builder, node, { by, comment });
    case 'skip':
      return endNode(builder, { type: 'node_skipped', node, attempt, reason: said });
    case 'done':
      return endNode(builder, { type: 'node_succeeded', node, attempt, outputs: {}, by, detail: said });
    case 'cancel':
      return endNode(builder, {
        type: 'node_ended',
        node,
        attempt,
        outcome: 'cancelled',
        error: errorBody('NODE_CANCELLED', said),
      });
  }
};

type RetryGrant = {
  readonly by: string;
  readonly comment?: string | undefined;
  readonly command?: CommandId;
};

/**
 * A person grants one more attempt, which counts like any other. Their comment is part of the hint. A failed
 * check leads back along its route.
 */
export const retryByPerson = (
  builder: DecisionBuilder,
  node: NodeId,
  { by, comment, command }: RetryGrant,
): void => {
  const before = nodeState(builder.task(), node);
  const hint = hintWith(comment, before.hint);
  const told = {
    ...(hint !== undefined && { hint }),
    ...(command !== undefined && { command }),
  };
  const back = backRouteFor(builder.task(), node, before.verdict);
  if (back.length > 0) return restartNodes(builder, back, { by, ...told });
  builder.emit({ type: 'node_retrying', node, attempt: before.attempt + 1, delayMs: 0, ...told });
  releaseNode(builder, node, before);
  if (builder.task().pausedByHand || before.paused === true)
    builder.timer({ set: retryTimer(node), dueAt: builder.now });
  else startWhenReady(builder, node);
};

const hintWith = (comment: string | undefined, hint: string | undefined): string | undefined => {
  if (comment === undefined) return hint;
  return `## Comment of the operator\n\n${comment}\n\n${hint ?? ''}`.slice(0, HINT_MAX).toWellFormed();
};
