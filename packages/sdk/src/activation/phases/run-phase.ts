import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { type PhaseEnd, ProgramQuestion } from '@holdpoint/contracts/program/work';
import type { Prompt } from '../../definition/ask.ts';
import type { OnErrorSpec } from '../../definition/on-error.ts';
import type { AnyPhase, AnyState, AnyTerminal } from '../../definition/phase.ts';
import { PhaseAborted } from '../session/abort.ts';
import { runAgent } from './agent.ts';
import { runEffect } from './effect.ts';
import { failureOf, type Stage, StageError } from './failure.ts';
import { respondToAgent, respondToHuman, runHuman } from './human.ts';
import { lastFailure, phaseErrorOf, type PhaseRun, runPart, stateAfter, storedOutput } from './phase-run.ts';
import { shownPrompt } from './question.ts';
import type { Session } from '../session/session.ts';
import { checkState } from '../context/state.ts';

type FailedEnd = Extract<PhaseEnd, { readonly kind: 'failed' }>;

export const failedEnd = (stage: Stage, error: unknown): FailedEnd => ({
  kind: 'failed',
  stage,
  error: failureOf(error),
});

const runTerminal = async (run: PhaseRun, { output }: AnyTerminal): Promise<PhaseEnd> => {
  const given = await runPart(run, 'run', () => output?.(run.state.current()));
  const state = await stateAfter(run, 'run');
  return { kind: 'completed', state, ...(await runPart(run, 'run', () => storedOutput(run, given))) };
};

const begin = (run: PhaseRun, phase: AnyPhase): Promise<PhaseEnd> => {
  const isResponse = run.order.activation === 'respond';
  switch (phase.type) {
    case 'agent':
      return isResponse && phase.spec.human !== undefined
        ? respondToAgent(run, phase.spec.human, phase.spec.next)
        : runAgent(run, phase.spec);
    case 'human':
      return isResponse ? respondToHuman(run, phase.spec) : runHuman(run, phase.spec);
    case 'effect':
      return runEffect(run, phase.spec);
    case 'terminal':
      return runTerminal(run, phase.spec);
  }
};

const onErrorOf = (phase: AnyPhase): OnErrorSpec<AnyState> | undefined =>
  phase.type === 'terminal' ? undefined : phase.spec.onError;

/** Runs `onRetry` before another attempt, once per attempt across all workers. */
const transformed = async (
  run: PhaseRun,
  phase: AnyPhase,
  session: Pick<Session, 'record'>,
): Promise<void> => {
  const onError = onErrorOf(phase);
  const error = lastFailure(run);
  const { order, given } = run;
  if (order.activation !== 'run' || order.attempt === 1 || given.retried === true) return;
  if (error === undefined || onError === undefined || onError.strategy === 'fail') return;
  const { onRetry } = onError;
  if (onRetry === undefined) return;
  await runPart(run, 'before', () => run.state.update((draft) => onRetry(error, draft)));
  const state = await stateAfter(run, 'before');
  await runPart(run, 'before', () => session.record({ kind: 'retry_state', state }));
};

const PausePrompt = ProgramQuestion.pick({ title: true, body: true });

/** The prompt of `onError`, else that of the question after the work, which then also shows the error. */
const pausePrompt = (run: PhaseRun, phase: AnyPhase, { error, stage }: FailedEnd): Prompt | undefined => {
  const onError = onErrorOf(phase);
  if (onError?.strategy !== 'pause') return undefined;
  const about = phaseErrorOf(run, { error, stage, attempt: run.order.attempt });
  if (onError.prompt !== undefined) return onError.prompt(about, run.given.state);
  const prompt = phase.type === 'agent' ? phase.spec.human?.prompt : undefined;
  const shown = typeof prompt === 'function' ? prompt(run.given.state, undefined, about) : undefined;
  return shown && { ...shown, body: [shown.body, error.message].filter(Boolean).join('\n\n') };
};

/** The question about a failure. An error in a prompt does not count as another failure. */
const questionAbout = (run: PhaseRun, phase: AnyPhase, end: FailedEnd): Pick<FailedEnd, 'question'> => {
  try {
    const prompt = pausePrompt(run, phase, end);
    return prompt === undefined ? {} : { question: PausePrompt.parse(shownPrompt(prompt)) };
  } catch (cause) {
    run.log({
      level: 'warn',
      message: `the prompt of the pause failed as well: ${failureOf(cause).message}`,
    });
    return {};
  }
};

const failureEnd = (run: PhaseRun, error: unknown): FailedEnd => {
  const { stage, cause } = error instanceof StageError ? error : { stage: 'run' as const, cause: error };
  const reason = cause instanceof PhaseAborted ? cause : run.life.aborted();
  return failedEnd(
    stage,
    reason?.why === 'timeout' ? new HoldpointError('PROGRAM_PHASE_TIMEOUT', reason.message) : cause,
  );
};

/** Runs a phase from its activation to its end and never rejects. */
export const runPhase = async (
  run: PhaseRun,
  phase: AnyPhase,
  session: Pick<Session, 'record'>,
): Promise<PhaseEnd> => {
  try {
    // A stored state may lack defaults of the schema: a task starts with the submitted state.
    const state = await runPart(run, 'guard', () => checkState(run.workflow.schema, run.given.state));
    run.state.replace(state);
    await transformed(run, phase, session);
    return await begin(run, phase);
  } catch (error) {
    const end = failureEnd(run, error);
    return { ...end, ...questionAbout(run, phase, end) };
  }
};
