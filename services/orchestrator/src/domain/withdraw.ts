import type { ApprovalEvent } from '@holdpoint/contracts/approval';
import type { EffectEvent } from '@holdpoint/contracts/effect';
import type { NodeId } from '@holdpoint/contracts/ids';
import { askToWithdraw, repeatDelayMs, replyTimer, retryTimer, withdrawTimer } from './asks.ts';
import type { Draft } from './draft.ts';
import type { TaskChange } from './evolve.ts';
import { nodeState } from './state.ts';

/** Takes back what the node has asked of others, and goes on asking until they have confirmed that it is. */
export const withdraw = (draft: Draft, node: NodeId, now: number, ask = 0): void => {
  const question = askToWithdraw(draft.task(), node, ask);
  if (question === undefined) return;
  draft.send(question);
  draft.timer({ set: withdrawTimer(node), dueAt: now + repeatDelayMs(ask + 1), data: { ask: ask + 1 } });
};

/** Ends the task: it waits for nothing any more, except to hear that nothing more will come of what it asked for. */
export const endTask = (
  draft: Draft,
  end: Extract<TaskChange, { readonly type: 'cancelled' | 'failed' }>,
  now: number,
): void => {
  draft.emit(end);
  for (const { id } of draft.task().definition.nodes) {
    switch (nodeState(draft.task(), id).status) {
      case 'awaiting_approval':
      case 'running':
        draft.timer({ clear: replyTimer(id) });
        withdraw(draft, id, now);
        break;
      case 'recovering':
        draft.timer({ clear: replyTimer(id) });
        break;
      case 'retrying':
        draft.timer({ clear: retryTimer(id) });
        break;
      default:
        break;
    }
  }
};

/** Whether the effect will certainly not be started any more, whatever is still on its way to the executor. */
const isAtRest = (fact: EffectEvent): boolean =>
  fact.type === 'applied' ||
  fact.type === 'cancelled' ||
  (fact.type === 'in_doubt' && fact.next === 'person');

type Report =
  | { readonly kind: 'approval'; readonly fact: ApprovalEvent }
  | { readonly kind: 'effect'; readonly fact: EffectEvent };

const confirms = ({ kind, fact }: Report, { withdrawn, gate }: ReturnType<typeof nodeState>): boolean => {
  if (withdrawn?.of !== kind) return false;
  return kind === 'approval'
    ? fact.type === 'resolved' && fact.id === gate?.approval
    : fact.id === gate?.effectId && isAtRest(fact);
};

/** Nobody need ask any more once it is confirmed; that changes nothing of the task itself. */
export const withdrawalConfirmed = (draft: Draft, report: Report): void => {
  const state = draft.task().nodes[report.fact.node];
  if (state !== undefined && confirms(report, state)) {
    draft.timer({ clear: withdrawTimer(report.fact.node) });
  }
};
