import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Outgoing } from '@holdpoint/runtime/decider';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { findNode, nodeState, type Task } from '../model/state.ts';
import { poolOf } from './effect-orders.ts';
import { command, withdrawTimer } from './outgoing.ts';
import { cancelRollback } from './recovery-requests.ts';

/** One message per withdrawn request or order, by its id. */
const withdrawCommands = (
  task: Task,
  node: NodeId,
  resends: number,
): readonly { readonly of: string; readonly messages: readonly Outgoing[] }[] => {
  const { withdrawn } = nodeState(task, node);
  if (withdrawn === undefined) return [];
  const { approval, questions = [], effects, rollbacks = [], reason } = withdrawn;
  const about = { task: task.id, node };
  const pool = poolOf(task, node);
  const take = (
    of: 'approval' | 'effect',
    subject: Outgoing['subject'],
    id: string,
    which: { readonly revision: number } | { readonly attempt: number },
    why = reason,
  ) => {
    // A request belongs to one revision, but an effect may be ordered and withdrawn in several attempts.
    const key = 'attempt' in which ? `${id}.${String(which.attempt)}` : id;
    const data = { id, ...about, ...which, reason: why };
    return { of: id, messages: [command(of, 'cancel', subject, `${key}.${String(resends)}`, data)] };
  };
  return [
    ...(approval === undefined ? [] : [approval]).map(({ id, revision }) =>
      take('approval', subjects.approvalCommand('cancel'), id, { revision }),
    ),
    ...questions.map(({ id, revision, reason: why }) =>
      take('approval', subjects.approvalCommand('cancel'), id, { revision }, why),
    ),
    ...effects.map(({ id, attempt }) =>
      take('effect', subjects.effectCommand('cancel', pool), id, { attempt }),
    ),
    ...rollbacks.map((by) => ({ of: by, messages: cancelRollback(task, node, by, resends) })),
  ];
};

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
