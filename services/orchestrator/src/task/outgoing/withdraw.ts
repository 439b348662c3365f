import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { repeatTimer } from '@holdpoint/runtime/decider';
import { withdrawCommands, withdrawTimer } from './outgoing.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { findNode, nodeState } from '../model/state.ts';

/** Takes back what the node has asked of others, and goes on asking until they have confirmed that it is. */
export const withdraw = (builder: DecisionBuilder, node: NodeId, ask = 0, only?: string): void => {
  for (const { of, messages } of withdrawCommands(builder.task(), node, ask)) {
    if (only !== undefined && of !== only) continue;
    for (const message of messages) builder.send(message);
    builder.timer(repeatTimer(withdrawTimer(node, of), ask, builder.now));
  }
};

/** Whether the effect will certainly not be started any more, whatever is still on its way to the executor. */
const isFinal = (fact: EffectEvent): boolean =>
  fact.type === 'applied' ||
  fact.type === 'not_applied' ||
  fact.type === 'cancelled' ||
  (fact.type === 'in_doubt' && fact.next === 'person');

type Report =
  | { readonly kind: 'approval'; readonly fact: ApprovalResolved }
  | { readonly kind: 'effect'; readonly fact: EffectEvent };

const isConfirmed = ({ kind, fact }: Report): boolean => kind === 'approval' || isFinal(fact);

/** Nobody need ask any more once it is confirmed; that changes nothing of the task itself. */
export const withdrawalConfirmed = (builder: DecisionBuilder, report: Report): void => {
  const { node, id } = report.fact;
  const withdrawn = findNode(builder.task(), node)?.withdrawn;
  if (withdrawn === undefined || !isConfirmed(report)) return;
  const { approval, questions = [], effects } = withdrawn;
  const wasAsked = approval?.id === id || questions.some((question) => question.id === id);
  if (wasAsked || effects.some((effect) => effect.id === id))
    builder.timer({ clear: withdrawTimer(node, id) });
};

/** A task that was to take a worktree back has ended, and will not touch it any more. */
export const rollbackEnded = (builder: DecisionBuilder, by: TaskId): void => {
  for (const { id } of builder.task().definition.nodes) {
    if (nodeState(builder.task(), id).withdrawn?.rollbacks?.includes(by) === true)
      builder.timer({ clear: withdrawTimer(id, by) });
  }
};
