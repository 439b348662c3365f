import type { ApprovalId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import { resendsOf } from '@holdpoint/runtime/decider';
import type { Draft } from './decision-builder.ts';
import { askForEffectAgain, withdrawEffect } from './effects.ts';
import { withdraw } from './ending.ts';
import { orderAgain, orderPhase } from './order-phase.ts';
import { LEASE_TIMER, ORDER_TIMER, QUESTION_TIMER, RETRY_TIMER } from './outgoing.ts';
import { goOnWith, returned } from './phase-end.ts';
import { putQuestion } from './question.ts';
import { effectsOf, entryOf, isOver } from './state.ts';

const NOT_WANTED = 'the task is over';

/** A timer is due. */
export const timerFired = (draft: Draft, name: string, data: Json): void => {
  const colon = name.indexOf(':');
  const purpose = colon < 0 ? name : name.slice(0, colon);
  const of = colon < 0 ? '' : name.slice(colon + 1);
  const ask = resendsOf(data);
  if (purpose === 'withdraw') return withdrawAgain(draft, of, ask);
  if (isOver(draft.task())) return undefined;
  const { node, visit, attempt, status } = draft.task();
  switch (purpose) {
    case ORDER_TIMER:
      return orderAgain(draft, ask);
    case LEASE_TIMER:
      return status === 'started' ? returned(draft, 'it was not heard of any more', true) : undefined;
    case QUESTION_TIMER:
      return status === 'asked' ? putQuestion(draft, ask) : undefined;
    case RETRY_TIMER:
      return status === 'retrying' ? orderPhase(draft, 'run') : undefined;
    case 'effect':
      return askForEffectAgain(draft, of as TaskId, ask);
    case 'sleep': {
      const entry = entryOf(draft.task(), of);
      if (entry?.kind !== 'sleep' || entry.over === true) return undefined;
      draft.emit({ type: 'phase_entry_completed', node, visit, attempt, key: of });
      return goOnWith(draft);
    }
    default:
      return undefined;
  }
};

const withdrawAgain = (draft: Draft, of: string, ask: number): void => {
  if (effectsOf(draft.task()).some(({ task }) => task === of))
    return withdrawEffect(draft, of as TaskId, NOT_WANTED, ask);
  return withdraw(draft, { approval: of as ApprovalId }, NOT_WANTED, ask);
};
