import { digestOf } from '@holdpoint/contracts/values/json';
import type { Draft } from './decision-builder.ts';

/** Says that a fork may begin here without losing anything. */
export const checkpoint = (draft: Draft, reason: string): void => {
  const { node, visit, state } = draft.task();
  draft.emit({ type: 'state_checkpoint', node, visit, digest: digestOf(state), reason });
};
