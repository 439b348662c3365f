import type { CommandId } from '@holdpoint/contracts/values/ids';
import type { Draft } from './decision-builder.ts';
import { RETRY_TIMER } from './outgoing.ts';

type Granted = { readonly by?: string; readonly command?: CommandId };

/** Another attempt, after a while. One that a person grants counts like any other. */
export const tryAgain = (draft: Draft, delayMs: number, granted: Granted = {}): void => {
  const { node, visit, attempt } = draft.task();
  draft.emit({ type: 'phase_retrying', node, visit, attempt: attempt + 1, delayMs, ...granted });
  draft.timer({ set: RETRY_TIMER, dueAt: draft.now + delayMs });
};
