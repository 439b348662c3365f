import type { RecordReview } from '@holdpoint/contracts/task/commands';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { Answer, Decision } from '@holdpoint/runtime/decider';
import { checkpoint, type DecisionBuilder } from './decision-builder.ts';
import { cancelTask, withdrawOpenQuestion } from './ending.ts';
import type { OperatorCommand } from './messages.ts';
import { orderPhase } from './order-phase.ts';
import { QUESTION_TIMER, RETRY_TIMER } from './outgoing.ts';
import { continuePhase } from './phase-end.ts';
import { startNextAttempt } from './retry.ts';
import { isOver, phaseOf, type ProgramTaskEvent } from './state.ts';

const illegal = (builder: DecisionBuilder, verb: string): Answer => {
  const { id, phase } = builder.task();
  return {
    error: errorBody('ORCHESTRATOR_ILLEGAL_IN_PHASE', `task ${id} is ${phase}: it cannot be ${verb}`, {
      phase,
    }),
  };
};

/** A command of an operator about the whole task. */
export const onOperatorCommand = (
  builder: DecisionBuilder,
  { commandId: command, ...said }: OperatorCommand,
): Decision<ProgramTaskEvent> => {
  if (builder.task().commands?.includes(command) === true) return builder.done();
  if (said.kind === 'record_review') return recordReview(builder, said.payload, command);
  const { kind, payload } = said;
  const { by = 'unknown', reason } = payload;
  switch (kind) {
    case 'cancel': {
      if (builder.task().phase === 'cancelled') return builder.done();
      if (isOver(builder.task())) return builder.done(illegal(builder, 'cancelled'));
      cancelTask(builder, by, reason ?? 'cancelled by hand');
      return builder.done();
    }
    case 'pause': {
      if (isOver(builder.task())) return builder.done(illegal(builder, 'paused'));
      if (builder.task().pausedByHand) return builder.done();
      checkpoint(builder, 'before the pause');
      builder.emit({ type: 'paused', by, reason: reason ?? 'paused by hand', command });
      return builder.done();
    }
    case 'resume': {
      if (isOver(builder.task())) return builder.done(illegal(builder, 'resumed'));
      if (!builder.task().pausedByHand) return builder.done();
      builder.emit({ type: 'resumed', by, command });
      resumeHeldWork(builder);
      return builder.done();
    }
    case 'retry':
      return retry(builder, by, command);
  }
};

const recordReview = (
  builder: DecisionBuilder,
  { id: _, by = 'unknown', ...text }: RecordReview,
  command: OperatorCommand['commandId'],
): Decision<ProgramTaskEvent> => {
  const { id, seen } = builder.task();
  const { node } = text;
  if (node !== undefined && phaseOf(builder.task(), node) === undefined)
    return builder.done({ error: errorBody('ORCHESTRATOR_UNKNOWN_NODE', `task ${id} has no phase ${node}`) });
  if (isOver(builder.task())) return builder.done(illegal(builder, 'reviewed'));
  const attempt = node === undefined ? undefined : (seen[node]?.attempt ?? 1);
  builder.emit({
    type: 'review_recorded',
    review: { ...text, by, ...(attempt !== undefined && { attempt }) },
    command,
  });
  return builder.done();
};

/** Continues the work that a pause held back. */
const resumeHeldWork = (builder: DecisionBuilder): void => {
  const { status } = builder.task();
  if (status === 'held') orderPhase(builder);
  else if (status === 'retrying') builder.timer({ set: RETRY_TIMER, dueAt: builder.now });
  else continuePhase(builder);
};

const retry = (
  builder: DecisionBuilder,
  by: string,
  command: OperatorCommand['commandId'],
): Decision<ProgramTaskEvent> => {
  const { status, phase, question } = builder.task();
  if (status === 'asked' && question?.about === 'failure') {
    builder.timer({ clear: QUESTION_TIMER });
    withdrawOpenQuestion(builder, question, `${by} allowed another attempt`, 0);
    startNextAttempt(builder, 0, { by, command });
    return builder.done();
  }
  if (phase !== 'failed') return builder.done(illegal(builder, 'tried again'));
  startNextAttempt(builder, 0, { by, command });
  return builder.done();
};
