import type { ApprovalId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import { resendsOf } from '@holdpoint/runtime/decider';
import type { DecisionBuilder } from './decision-builder.ts';
import { resendEffect, withdrawEffect } from './effects.ts';
import { withdrawOpenQuestion } from './ending.ts';
import { orderAgain, orderPhase } from './order-phase.ts';
import { LEASE_TIMER, ORDER_TIMER, QUESTION_TIMER, RETRY_TIMER } from './outgoing.ts';
import { continuePhase, onWorkerLost } from './phase-end.ts';
import { sendQuestion } from './question.ts';
import { effectsOf, entryOf, isOver } from './state.ts';

const NOT_WANTED = 'the task has ended';

export const onTimer = (builder: DecisionBuilder, name: string, data: Json): void => {
  const colon = name.indexOf(':');
  const purpose = colon < 0 ? name : name.slice(0, colon);
  const of = colon < 0 ? '' : name.slice(colon + 1);
  const resends = resendsOf(data);
  if (purpose === 'withdraw') return resendWithdrawal(builder, of, resends);
  if (isOver(builder.task())) return undefined;
  const { node, visit, attempt, status } = builder.task();
  switch (purpose) {
    case ORDER_TIMER:
      return orderAgain(builder, resends);
    case LEASE_TIMER:
      return status === 'started' ? onWorkerLost(builder, 'the worker sent no heartbeat', true) : undefined;
    case QUESTION_TIMER:
      return status === 'asked' ? sendQuestion(builder, resends) : undefined;
    case RETRY_TIMER:
      return status === 'retrying' ? orderPhase(builder, 'run') : undefined;
    case 'effect':
      return resendEffect(builder, of as TaskId, resends);
    case 'sleep': {
      const entry = entryOf(builder.task(), of);
      if (entry?.kind !== 'sleep' || entry.over === true) return undefined;
      builder.emit({ type: 'phase_entry_completed', node, visit, attempt, key: of });
      return continuePhase(builder);
    }
    default:
      return undefined;
  }
};

const resendWithdrawal = (builder: DecisionBuilder, of: string, resends: number): void => {
  if (effectsOf(builder.task()).some(({ task }) => task === of))
    return withdrawEffect(builder, of as TaskId, NOT_WANTED, resends);
  return withdrawOpenQuestion(builder, { approval: of as ApprovalId }, NOT_WANTED, resends);
};
