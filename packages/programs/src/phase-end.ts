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
import { checkpoint } from './checkpoints.ts';
import type { Draft } from './decision-builder.ts';
import { completeTask, failTask } from './ending.ts';
import { endLease, orderPhase } from './order-phase.ts';
import { sleepTimer } from './outgoing.ts';
import { ask, askAboutFailure } from './question.ts';
import { bytesOf, stateTooLarge } from './size-limits.ts';
import { tryAgain } from './retry.ts';
import { entryOf, hasEnded, phaseOf, type Program } from './state.ts';

type Ended<How extends PhaseEnd['how']> = Extract<PhaseEnd, { readonly how: How }>;

/** How the phase has ended, or come to a stop, as its worker says. */
export const phaseEnded = (draft: Draft, end: PhaseEnd): void => {
  endLease(draft);
  switch (end.how) {
    case 'completed':
      return completed(draft, end);
    case 'skipped':
      return skipped(draft, end);
    case 'failed':
      return failed(draft, end.stage, end.error, end.question);
    case 'asked':
      return asked(draft, end);
    case 'suspended':
      return suspended(draft, end);
    case 'returned':
      return returned(draft, end.reason, false);
  }
};

const placeIn = ({ node, visit, attempt, lease }: Program) => ({ node, visit, attempt, lease });

/** Why a phase may not lead there; nothing when it may. */
const nextProblem = (task: Program, next: NodeId | undefined): ErrorBody | undefined => {
  const phase = phaseOf(task, task.node);
  const from = `the phase ${task.node}`;
  if (phase === undefined || phase.type === 'terminal')
    return next === undefined
      ? undefined
      : errorBody('PROGRAM_NEXT_UNKNOWN', `${from} is the last: nothing follows it`);
  if (next === undefined) return errorBody('PROGRAM_NEXT_UNKNOWN', `${from} names no phase to go on with`);
  if (phaseOf(task, next) === undefined)
    return errorBody('PROGRAM_NEXT_UNKNOWN', `${from} leads to ${next}, and there is no such phase`);
  return phase.next !== undefined && phase.next.length > 0 && !phase.next.includes(next)
    ? errorBody('PROGRAM_NEXT_UNKNOWN', `${from} leads to ${next}, which it has not declared`)
    : undefined;
};

const tooLarge = (state: JsonObject, output: Json | undefined): ErrorBody | undefined => {
  if (bytesOf(state) > STATE_MAX_BYTES) return stateTooLarge();
  return output !== undefined && bytesOf(output) > ENTRIES_MAX_BYTES
    ? errorBody('PROGRAM_RECORDS_TOO_LARGE', 'the output is too large: keep it as an artifact')
    : undefined;
};

const completed = (draft: Draft, { state, output, next }: Ended<'completed'>): void => {
  const task = draft.task();
  const problem = nextProblem(task, next);
  if (problem !== undefined) return failed(draft, 'next', problem);
  const large = tooLarge(state, output);
  if (large !== undefined) return failed(draft, 'run', large);
  const phase = phaseOf(task, task.node);
  forgetSleeps(draft);
  draft.emit({
    type: 'phase_completed',
    ...placeIn(task),
    state,
    ...(output !== undefined && { output }),
    ...(next !== undefined && { next }),
  });
  if (phase?.type !== 'terminal') return entered(draft);
  if (phase.outcome === 'succeeded') return completeTask(draft, task.node);
  const error = errorBody('PROGRAM_PHASE_FAILED', `the program has ended in its phase ${task.node}`);
  return failTask(draft, error, task.node);
};

const skipped = (draft: Draft, { next }: Ended<'skipped'>): void => {
  const task = draft.task();
  const problem = nextProblem(task, next);
  if (problem !== undefined) return failed(draft, 'next', problem);
  forgetSleeps(draft);
  draft.emit({ type: 'phase_skipped', ...placeIn(task), next, reason: 'its guard does not hold' });
  return entered(draft);
};

/** What was slept for in a phase is of no concern to the next. */
const forgetSleeps = (draft: Draft): void => {
  for (const entry of draft.task().entries)
    if (entry.kind === 'sleep' && entry.over !== true) draft.timer({ clear: sleepTimer(entry.key) });
};

const entered = (draft: Draft): void => {
  const { ended, visit, node, program } = draft.task();
  if (program.snapshotEvery !== undefined && ended % program.snapshotEvery === 0)
    checkpoint(draft, `${String(ended)} phases have ended`);
  if (visit > VISITS_MAX) {
    const error = errorBody('PROGRAM_ENDLESS', `the task has gone through ${String(VISITS_MAX)} phases`);
    return failTask(draft, error, node);
  }
  return orderPhase(draft);
};

const onErrorOf = (task: Program): ProgramOnError | undefined => {
  const phase = phaseOf(task, task.node);
  return phase === undefined || phase.type === 'terminal' ? undefined : phase.onError;
};

/** An attempt has failed: its phase says what follows. */
export const failed = (
  draft: Draft,
  stage: PhaseFailure['stage'],
  error: ErrorBody,
  question?: Ended<'failed'>['question'],
): void => {
  const task = draft.task();
  const { attempt, node } = task;
  draft.emit({ type: 'phase_failed', ...placeIn(task), stage, error });
  const onError = onErrorOf(task);
  const left = attempt <= (onError?.maxRetries ?? 0);
  switch (onError?.strategy) {
    case 'retry':
      return left ? tryAgain(draft, retryDelayMs(onError, attempt - 1)) : failTask(draft, error, node);
    case 'pause':
      // What people grant counts like any other attempt: where there is a limit, it holds for them as well.
      return left || onError.maxRetries === 0
        ? askAboutFailure(draft, question ?? {}, error.message)
        : failTask(draft, error, node);
    case 'fail':
    case undefined:
      return failTask(draft, error, node);
  }
};

const asked = (draft: Draft, { state, output, question }: Ended<'asked'>): void => {
  const large = tooLarge(state, output);
  if (large !== undefined) return failed(draft, 'run', large);
  return ask(draft, question, { about: 'phase', state, ...(output !== undefined && { output }) });
};

const suspended = (draft: Draft, { on }: Ended<'suspended'>): void => {
  const task = draft.task();
  draft.emit({ type: 'phase_suspended', ...placeIn(task), on });
  goOnWith(draft);
};

/** What a phase waits for has ended, or was never recorded: it goes on. */
export const goOnWith = (draft: Draft): void => {
  const task = draft.task();
  if (task.status !== 'suspended') return;
  const waits = (task.suspendedOn ?? []).map((key) => entryOf(task, key));
  if (waits.some((entry) => entry === undefined || hasEnded(entry))) orderPhase(draft);
};

/** So many workers may be lost in a row, with nothing recorded in between, before it is taken that the phase ends them. */
const LOSSES_MAX = 10;

/** Nobody works on the phase any more: somebody else shall. */
export const returned = (draft: Draft, reason: string, lost: boolean): void => {
  const task = draft.task();
  draft.emit({ type: 'phase_returned', ...placeIn(task), worker: task.worker ?? 'nobody', reason, lost });
  if (draft.task().losses < LOSSES_MAX) return orderPhase(draft);
  const message = `${String(LOSSES_MAX)} workers were lost while they worked on it`;
  return failed(draft, 'worker', errorBody('PROGRAM_WORKER_LOST', message));
};
