import { errorBody } from '@holdpoint/contracts/values/errors';
import type { Answer, Decision } from '@holdpoint/runtime/decider';
import { checkpoint } from './checkpoints.ts';
import type { Draft } from './decision-builder.ts';
import { cancelTask, withdraw } from './ending.ts';
import type { ByHand } from './messages.ts';
import { orderPhase } from './order-phase.ts';
import { QUESTION_TIMER, RETRY_TIMER } from './outgoing.ts';
import { goOnWith } from './phase-end.ts';
import { tryAgain } from './retry.ts';
import { isOver, type ProgramFact } from './state.ts';

const illegal = (draft: Draft, verb: string): Answer => {
  const { id, phase } = draft.task();
  return {
    error: errorBody('ORCHESTRATOR_ILLEGAL_IN_PHASE', `task ${id} is ${phase}: it cannot be ${verb}`, {
      phase,
    }),
  };
};

/** What a person wants of the whole task. */
export const byHand = (
  draft: Draft,
  { kind, payload, commandId: command }: ByHand,
): Decision<ProgramFact> => {
  const { by = 'unknown', reason } = payload;
  if (draft.task().commands?.includes(command) === true) return draft.done();
  switch (kind) {
    case 'cancel': {
      if (draft.task().phase === 'cancelled') return draft.done();
      if (isOver(draft.task())) return draft.done(illegal(draft, 'cancelled'));
      cancelTask(draft, by, reason ?? 'cancelled by hand');
      return draft.done();
    }
    case 'pause': {
      if (isOver(draft.task())) return draft.done(illegal(draft, 'paused'));
      if (draft.task().pausedByHand) return draft.done();
      checkpoint(draft, 'before a pause');
      draft.emit({ type: 'paused', by, reason: reason ?? 'paused by hand', command });
      return draft.done();
    }
    case 'resume': {
      if (isOver(draft.task())) return draft.done(illegal(draft, 'resumed'));
      if (!draft.task().pausedByHand) return draft.done();
      draft.emit({ type: 'resumed', by, command });
      goOn(draft);
      return draft.done();
    }
    case 'retry':
      return retry(draft, by, command);
  }
};

/** What a pause has held back. */
const goOn = (draft: Draft): void => {
  const { status } = draft.task();
  if (status === 'held') orderPhase(draft);
  else if (status === 'retrying') draft.timer({ set: RETRY_TIMER, dueAt: draft.now });
  else goOnWith(draft);
};

const retry = (draft: Draft, by: string, command: ByHand['commandId']): Decision<ProgramFact> => {
  const { status, phase, question } = draft.task();
  if (status === 'asked' && question?.about === 'failure') {
    draft.timer({ clear: QUESTION_TIMER });
    withdraw(draft, question, `${by} has it tried again`, 0);
    tryAgain(draft, 0, { by, command });
    return draft.done();
  }
  if (phase !== 'failed') return draft.done(illegal(draft, 'tried again'));
  tryAgain(draft, 0, { by, command });
  return draft.done();
};
