import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import { inputIdOf, type NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { repeatTimer } from '@holdpoint/runtime/decider';
import type { Draft } from './decision-builder.ts';
import { withdrawEffects } from './effects.ts';
import {
  LEASE_TIMER,
  ORDER_TIMER,
  QUESTION_TIMER,
  RETRY_TIMER,
  sleepTimer,
  tellWatcher,
  withdrawQuestion,
  withdrawTimer,
} from './outgoing.ts';
import type { OpenQuestion, Program } from './state.ts';

/** What was asked of others is not wanted any more. */
const letGo = (draft: Draft, before: Program, reason: string): void => {
  for (const timer of [LEASE_TIMER, ORDER_TIMER, QUESTION_TIMER, RETRY_TIMER]) draft.timer({ clear: timer });
  for (const entry of before.entries)
    if (entry.kind === 'sleep' && entry.over !== true) draft.timer({ clear: sleepTimer(entry.key) });
  withdrawEffects(draft, reason);
  if (before.question !== undefined) withdraw(draft, before.question, reason, 0);
};

export const withdraw = (
  draft: Draft,
  { approval }: Pick<OpenQuestion, 'approval'>,
  reason: string,
  ask: number,
): void => {
  const { id, questions } = draft.task();
  const numbers = Array.from({ length: questions }, (_, at) => at + 1);
  const number = numbers.find((each) => inputIdOf(id, each) === approval) ?? questions;
  draft.send(withdrawQuestion(draft.task(), approval, number, reason, ask));
  draft.timer(repeatTimer(withdrawTimer(approval), ask, draft.now));
};

const tellWatchers = (draft: Draft): void => {
  for (const watcher of draft.task().watchers) {
    const message = tellWatcher(draft.task(), watcher, 0);
    if (message !== undefined) draft.send(message);
  }
};

/** The task has reached its goal. */
export const completeTask = (draft: Draft, node: NodeId): void => {
  const before = draft.task();
  const { output } = before;
  const outputs: Record<string, JsonObject> = output === undefined ? {} : { [node]: { output } };
  draft.emit({ type: 'completed', outputs });
  letGo(draft, before, 'the task is completed');
  tellWatchers(draft);
};

/** The task cannot reach its goal. */
export const failTask = (draft: Draft, { code, message, details }: ErrorBody, node: NodeId): void => {
  const before = draft.task();
  const error = { code, message, details: { ...details, node } };
  draft.emit({ type: 'failed', outcome: code === 'ERR_FORBIDDEN' ? 'blocked' : 'failed', error });
  letGo(draft, before, 'the task has failed');
  tellWatchers(draft);
};

export const cancelTask = (draft: Draft, by: string, reason: string): void => {
  const before = draft.task();
  draft.emit({ type: 'cancelled', by, reason });
  letGo(draft, before, reason);
  tellWatchers(draft);
};
