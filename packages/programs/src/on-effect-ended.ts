import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import type { Information } from '@holdpoint/contracts/task/registry';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import type { Draft } from './decision-builder.ts';
import { endOf } from './effects.ts';
import { effectTimer, tellWatcher, withdrawTimer } from './outgoing.ts';
import { goOnWith } from './phase-end.ts';
import { effectsOf, isOver } from './state.ts';

/** How the task of an effect has ended. That it is not known yet says nothing: it is on its way. */
export const informed = (draft: Draft, information: Information): void => {
  if (information.about !== 'peer' || information.outcome === 'unknown') return;
  const { peer, outcome, outputs, error } = information;
  const entry = effectsOf(draft.task()).find(({ task }) => task === peer);
  if (entry === undefined) return;
  if (isOver(draft.task())) return draft.timer({ clear: withdrawTimer(peer) });
  if (entry.ended !== undefined) return;
  const { node, visit, attempt } = draft.task();
  const ended = endOf({ outcome, ...(outputs && { outputs }), ...(error && { error }) });
  draft.timer({ clear: effectTimer(peer) });
  draft.emit({ type: 'phase_entry_completed', node, visit, attempt, key: entry.key, ended });
  goOnWith(draft);
};

/** Whoever asked for what is not wanted any more hears that it is closed. */
export const questionClosed = (draft: Draft, { id }: ApprovalResolved): void => {
  if (draft.task().question?.approval !== id) draft.timer({ clear: withdrawTimer(id) });
};

/** Another task wants to know how this one ends. */
export const watched = (draft: Draft, watcher: TaskId): void => {
  const message = tellWatcher(draft.task(), watcher, draft.now);
  if (message !== undefined) return draft.send(message);
  if (!draft.task().watchers.includes(watcher)) draft.emit({ type: 'watcher_added', watcher });
};
