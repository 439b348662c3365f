import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { withdrawCommands, withdrawTimer } from './outgoing.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { findNode, nodeState } from '../model/state.ts';

/** Withdraws the requests and orders of a node, and resends until each is confirmed. */
export const withdraw = (builder: DecisionBuilder, node: NodeId, resends = 0, only?: string): void => {
  for (const { of, messages } of withdrawCommands(builder.task(), node, resends)) {
    if (only !== undefined && of !== only) continue;
    for (const message of messages) builder.send(message);
    builder.resendTimer(withdrawTimer(node, of), resends);
  }
};

/** Whether the executor will certainly not start the effect any more. */
const isFinal = (event: EffectEvent): boolean =>
  event.type === 'applied' ||
  event.type === 'not_applied' ||
  event.type === 'cancelled' ||
  (event.type === 'in_doubt' && event.next === 'person');

type Report =
  | { readonly kind: 'approval'; readonly event: ApprovalResolved }
  | { readonly kind: 'effect'; readonly event: EffectEvent };

const isConfirmed = ({ kind, event }: Report): boolean => kind === 'approval' || isFinal(event);

/** Clears the timer of a confirmed withdrawal. The task itself does not change. */
export const withdrawalConfirmed = (builder: DecisionBuilder, report: Report): void => {
  const { node, id } = report.event;
  const withdrawn = findNode(builder.task(), node)?.withdrawn;
  if (withdrawn === undefined || !isConfirmed(report)) return;
  const { approval, questions = [], effects } = withdrawn;
  const wasAsked = approval?.id === id || questions.some((question) => question.id === id);
  if (wasAsked || effects.some((effect) => effect.id === id))
    builder.timer({ clear: withdrawTimer(node, id) });
};

/** Clears the timer of an ended rollback task. */
export const rollbackEnded = (builder: DecisionBuilder, by: TaskId): void => {
  for (const { id } of builder.task().definition.nodes) {
    if (nodeState(builder.task(), id).withdrawn?.rollbacks?.includes(by) === true)
      builder.timer({ clear: withdrawTimer(id, by) });
  }
};
