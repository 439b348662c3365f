import type { CommandId } from '@holdpoint/contracts/values/ids';
import type { DecisionBuilder } from './decision-builder.ts';
import { RETRY_TIMER } from './outgoing.ts';

type Granted = { readonly by?: string; readonly command?: CommandId };

/** Starts another attempt after a delay. One that a person grants counts like any other. */
export const startNextAttempt = (builder: DecisionBuilder, delayMs: number, granted: Granted = {}): void => {
  const { node, visit, attempt } = builder.task();
  builder.emit({ type: 'phase_retrying', node, visit, attempt: attempt + 1, delayMs, ...granted });
  builder.timer({ set: RETRY_TIMER, dueAt: builder.now + delayMs });
};
