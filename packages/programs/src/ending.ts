import { type ErrorBody, isNotApproved } from '@holdpoint/contracts/values/errors';
import { inputIdOf, type NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { DecisionBuilder } from './decision-builder.ts';
import { withdrawEffects } from './effects.ts';
import {
  LEASE_TIMER,
  ORDER_TIMER,
  QUESTION_TIMER,
  RETRY_TIMER,
  sleepTimer,
  notifyWatcher,
  withdrawQuestion,
  withdrawTimer,
} from './outgoing.ts';
import type { OpenQuestion, Program } from './state.ts';

/** Clears all timers and withdraws all requests. */
const releaseAll = (builder: DecisionBuilder, before: Program, reason: string): void => {
  for (const timer of [LEASE_TIMER, ORDER_TIMER, QUESTION_TIMER, RETRY_TIMER])
    builder.timer({ clear: timer });
  for (const entry of before.entries)
    if (entry.kind === 'sleep' && entry.over !== true) builder.timer({ clear: sleepTimer(entry.key) });
  withdrawEffects(builder, reason);
  if (before.question !== undefined) withdrawOpenQuestion(builder, before.question, reason, 0);
};

export const withdrawOpenQuestion = (
  builder: DecisionBuilder,
  { approval }: Pick<OpenQuestion, 'approval'>,
  reason: string,
  resends: number,
): void => {
  const { id, questions } = builder.task();
  const numbers = Array.from({ length: questions }, (_, at) => at + 1);
  const number = numbers.find((each) => inputIdOf(id, each) === approval);
  if (number === undefined) return;
  builder.send(withdrawQuestion(builder.task(), approval, number, reason, resends));
  builder.resendTimer(withdrawTimer(approval), resends);
};

const notifyWatchers = (builder: DecisionBuilder): void => {
  for (const watcher of builder.task().watchers) {
    const message = notifyWatcher(builder.task(), watcher, 0);
    if (message !== undefined) builder.send(message);
  }
};

export const completeTask = (builder: DecisionBuilder, node: NodeId): void => {
  const before = builder.task();
  const { output } = before;
  const outputs: Record<string, JsonObject> = output === undefined ? {} : { [node]: { output } };
  builder.emit({ type: 'completed', outputs });
  releaseAll(builder, before, 'the task is completed');
  notifyWatchers(builder);
};

export const failTask = (
  builder: DecisionBuilder,
  { code, message, details }: ErrorBody,
  node: NodeId,
): void => {
  const before = builder.task();
  const { from } = before;
  const error = { code, message, details: { ...details, node, ...(from !== undefined && { from }) } };
  builder.emit({ type: 'failed', outcome: isNotApproved(code) ? 'blocked' : 'failed', error });
  releaseAll(builder, before, 'the task has failed');
  notifyWatchers(builder);
};

export const cancelTask = (builder: DecisionBuilder, by: string, reason: string): void => {
  const before = builder.task();
  builder.emit({ type: 'cancelled', by, reason });
  releaseAll(builder, before, reason);
  notifyWatchers(builder);
};
