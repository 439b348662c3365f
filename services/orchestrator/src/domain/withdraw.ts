import { cancelApproval, cancelEffect, replyTimer, retryTimer } from './asks.ts';
import type { Draft } from './draft.ts';
import { nodeState } from './state.ts';

/**
 * Takes back what a task that ends has asked of others, as far as it can be: an effect that has started may still be
 * applied.
 */
export const withdraw = (draft: Draft, reason: string): void => {
  const task = draft.task();
  for (const { id } of task.definition.nodes) {
    switch (nodeState(task, id).status) {
      case 'awaiting_approval':
        draft.send(cancelApproval(task, id, reason));
        draft.timer({ clear: replyTimer(id) });
        break;
      case 'running':
        draft.send(cancelEffect(task, id, reason));
        draft.timer({ clear: replyTimer(id) });
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
