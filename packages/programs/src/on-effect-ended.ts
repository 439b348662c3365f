import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import type { Notification } from '@holdpoint/contracts/task/registry';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import type { DecisionBuilder } from './decision-builder.ts';
import { endOf } from './effects.ts';
import { effectTimer, notifyWatcher, withdrawTimer } from './outgoing.ts';
import { continuePhase } from './phase-end.ts';
import { effectsOf, isOver } from './state.ts';

/** Records the end of an effect's task. `unknown` means that the submission is still on its way. */
export const onNotification = (draft: DecisionBuilder, notification: Notification): void => {
  if (notification.kind !== 'peer' || notification.outcome === 'unknown') return;
  const { peer, outcome, outputs, error } = notification;
  const entry = effectsOf(draft.task()).find(({ task }) => task === peer);
  if (entry === undefined) return;
  if (isOver(draft.task())) return draft.timer({ clear: withdrawTimer(peer) });
  if (entry.ended !== undefined) return;
  const { node, visit, attempt } = draft.task();
  const ended = endOf({ outcome, ...(outputs && { outputs }), ...(error && { error }) });
  draft.timer({ clear: effectTimer(peer) });
  draft.emit({ type: 'phase_entry_completed', node, visit, attempt, key: entry.key, ended });
  continuePhase(draft);
};

/** A withdrawn question is closed. */
export const questionClosed = (draft: DecisionBuilder, { id }: ApprovalResolved): void => {
  if (draft.task().question?.approval !== id) draft.timer({ clear: withdrawTimer(id) });
};

/** Replies when this task has ended; else records the watcher. */
export const onWatch = (draft: DecisionBuilder, watcher: TaskId): void => {
  const message = notifyWatcher(draft.task(), watcher, draft.now);
  if (message !== undefined) return draft.send(message);
  if (!draft.task().watchers.includes(watcher)) draft.emit({ type: 'watcher_added', watcher });
};
