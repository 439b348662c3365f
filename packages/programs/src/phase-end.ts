import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import { ENTRIES_MAX_BYTES } from '@holdpoint/contracts/program/recording';
import {
  type PhaseEnd,
  type PhaseFailure,
  STATE_MAX_BYTES,
  VISITS_MAX,
} from '@holdpoint/contracts/program/work';
import type { ProgramOnError } from '@holdpoint/contracts/program/definition';
import { retryDelayMs } from '@holdpoint/contracts/workflow/workflow';
import { checkpoint, type DecisionBuilder } from './decision-builder.ts';
import { completeTask, failTask } from './ending.ts';
import { endLease, orderPhase } from './order-phase.ts';
import { sleepTimer } from './outgoing.ts';
import { askQuestion, askAboutFailure } from './question.ts';
import { bytesOf, stateTooLarge } from './size-limits.ts';
import { startNextAttempt } from './retry.ts';
import { entryOf, hasEnded, phaseOf, type Program } from './state.ts';

type Ended<How extends PhaseEnd['kind']> = Extract<PhaseEnd, { readonly kind: How }>;

/** Applies the end of an activation. */
export const phaseEnded = (builder: DecisionBuilder, end: PhaseEnd): void => {
  endLease(builder);
  switch (end.kind) {
    case 'completed':
      return completed(builder, end);
    case 'skipped':
      return skipped(builder, end);
    case 'failed':
      return onPhaseFailed(builder, end.stage, end.error, end.question);
    case 'input_requested':
      return asked(builder, end);
    case 'suspended':
      return suspended(builder, end);
    case 'returned':
      return onWorkerLost(builder, end.reason, false);
  }
};

const placeIn = ({ node, visit, attempt, lease }: Program) => ({ node, visit, attempt, lease });

/** Why the phase may not lead there. Undefined when it may. */
const nextProblem = (task: Program, next: NodeId | undefined): ErrorBody | undefined => {
  const phase = phaseOf(task, task.node);
  const from = `the phase ${task.node}`;
  if (phase === undefined || phase.type === 'terminal')
    return next === undefined
      ? undefined
      : errorBody('PROGRAM_NEXT_UNKNOWN', `${from} is terminal: no phase follows`);
  if (next === undefined) return errorBody('PROGRAM_NEXT_UNKNOWN', `${from} names no next phase`);
  if (phaseOf(task, next) === undefined)
    return errorBody('PROGRAM_NEXT_UNKNOWN', `${from} leads to ${next}, which does not exist`);
  return phase.next !== undefined && phase.next.length > 0 && !phase.next.includes(next)
    ? errorBody('PROGRAM_NEXT_UNKNOWN', `${from} leads to ${next}, which it does not declare`)
    : undefined;
};

const tooLarge = (state: JsonObject, output: Json | undefined): ErrorBody | undefined => {
  if (bytesOf(state) > STATE_MAX_BYTES) return stateTooLarge();
  return output !== undefined && bytesOf(output) > ENTRIES_MAX_BYTES
    ? errorBody('PROGRAM_RECORDS_TOO_LARGE', 'the output is too large: store it as an artifact')
    : undefined;
};

const completed = (builder: DecisionBuilder, { state, output, next }: Ended<'completed'>): void => {
  const task = builder.task();
  const problem = nextProblem(task, next);
  if (problem !== undefined) return onPhaseFailed(builder, 'next', problem);
  const large = tooLarge(state, output);
  if (large !== undefined) return onPhaseFailed(builder, 'run', large);
  const phase = phaseOf(task, task.node);
  forgetSleeps(builder);
  builder.emit({
    type: 'phase_completed',
    ...placeIn(task),
    state,
    ...(output !== undefined && { output }),
    ...(next !== undefined && { next }),
  });
  if (phase?.type !== 'terminal') return entered(builder);
  if (phase.outcome === 'succeeded') return completeTask(builder, task.node);
  const error = errorBody('PROGRAM_PHASE_FAILED', `the program stopped in its phase ${task.node}`);
  return failTask(builder, error, task.node);
};

const skipped = (builder: DecisionBuilder, { next }: Ended<'skipped'>): void => {
  const task = builder.task();
  const problem = nextProblem(task, next);
  if (problem !== undefined) return onPhaseFailed(builder, 'next', problem);
  forgetSleeps(builder);
  builder.emit({ type: 'phase_skipped', ...placeIn(task), next, reason: 'guard is false' });
  return entered(builder);
};

/** Sleeps belong to their phase. */
const forgetSleeps = (builder: DecisionBuilder): void => {
  for (const entry of builder.task().entries)
    if (entry.kind === 'sleep' && entry.over !== true) builder.timer({ clear: sleepTimer(entry.key) });
};

const entered = (builder: DecisionBuilder): void => {
  const { ended, visit, node, program } = builder.task();
  if (program.snapshotEvery !== undefined && ended % program.snapshotEvery === 0)
    checkpoint(builder, `${String(ended)} phases have completed`);
  if (visit > VISITS_MAX) {
    const error = errorBody('PROGRAM_ENDLESS', `the task has run ${String(VISITS_MAX)} phases`);
    return failTask(builder, error, node);
  }
  return orderPhase(builder);
};

const onErrorOf = (task: Program): ProgramOnError | undefined => {
  const phase = phaseOf(task, task.node);
  return phase === undefined || phase.type === 'terminal' ? undefined : phase.onError;
};

const exceeded = ({ message, ...error }: ErrorBody): ErrorBody => ({
  ...error,
  message: `Max retries exceeded: ${message}`,
});

/** Handles a failed attempt by the rules of its phase. */
export const onPhaseFailed = (
  builder: DecisionBuilder,
  stage: PhaseFailure['stage'],
  error: ErrorBody,
  question?: Ended<'failed'>['question'],
): void => {
  const task = builder.task();
  const { attempt, node } = task;
  builder.emit({ type: 'phase_failed', ...placeIn(task), stage, error });
  const onError = onErrorOf(task);
  const left = attempt <= (onError?.maxRetries ?? 0);
  switch (onError?.strategy) {
    case 'retry':
      return left
        ? startNextAttempt(builder, retryDelayMs(onError, attempt - 1))
        : failTask(builder, exceeded(error), node);
    case 'pause':
      // Attempts that people grant count against the limit as well.
      return left || onError.maxRetries === 0
        ? askAboutFailure(builder, question ?? {}, error.message)
        : failTask(builder, exceeded(error), node);
    case 'fail':
    case undefined:
      return failTask(builder, error, node);
  }
};

const asked = (builder: DecisionBuilder, { state, output, question }: Ended<'input_requested'>): void => {
  const large = tooLarge(state, output);
  if (large !== undefined) return onPhaseFailed(builder, 'run', large);
  return askQuestion(builder, question, { about: 'phase', state, ...(output !== undefined && { output }) });
};

const suspended = (builder: DecisionBuilder, { on }: Ended<'suspended'>): void => {
  const task = builder.task();
  builder.emit({ type: 'phase_suspended', ...placeIn(task), on });
  continuePhase(builder);
};

/** Continues the phase when its awaited records have ended. */
export const continuePhase = (builder: DecisionBuilder): void => {
  const task = builder.task();
  if (task.status !== 'suspended') return;
  const waits = (task.suspendedOn ?? []).map((key) => entryOf(task, key));
  if (waits.some((entry) => entry === undefined || hasEnded(entry))) orderPhase(builder);
};

/** After this many lost workers in a row without a record, the phase fails. */
const LOSSES_MAX = 10;

/** Takes the phase from its worker and orders another one. */
export const onWorkerLost = (builder: DecisionBuilder, reason: string, lost: boolean): void => {
  const task = builder.task();
  builder.emit({ type: 'phase_returned', ...placeIn(task), worker: task.worker ?? 'nobody', reason, lost });
  if (builder.task().losses < LOSSES_MAX) return orderPhase(builder);
  const message = `${String(LOSSES_MAX)} workers were lost in this phase`;
  return onPhaseFailed(builder, 'worker', errorBody('PROGRAM_WORKER_LOST', message));
};
