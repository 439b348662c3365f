import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { inputProblems } from '@holdpoint/contracts/workflow/input';
import type { Json } from '@holdpoint/contracts/values/json';
import type { PhaseEnd, ProgramAnswer } from '@holdpoint/contracts/program/work';
import { z } from 'zod';
import { inputRequest } from '../../definition/ask.ts';
import type { AnyAsk, AnyHuman, AnyState } from '../../definition/phase.ts';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { StageError } from './failure.ts';
import { retryWhileUnavailable } from '../context/retry.ts';
import {
  contextOf,
  fullOutput,
  isWanted,
  lastFailure,
  nextOf,
  phaseErrorOf,
  type PhaseRun,
  runPart,
  stateAfter,
} from './phase-run.ts';
import { repeatedQuestion, questionFor } from './question.ts';

/** Runs a human phase up to its question: guard, before, then the question. */
export const runHuman = async (run: PhaseRun, spec: AnyHuman): Promise<PhaseEnd> => {
  const { guard, before, next } = spec;
  if (!(await isWanted(run, guard)))
    return { kind: 'skipped', next: await nextOf(run, next, run.state.current(), undefined) };
  if (before !== undefined) await runPart(run, 'before', () => before(contextOf(run)));
  const question = await questionFor(run, spec, 'run', lastFailure(run));
  if (question === undefined)
    throw new StageError('run', new TypeError('the prompt of a human phase must return a title'));
  return { kind: 'input_requested', state: await stateAfter(run, 'run'), question };
};

type ParsedResponse = { readonly response: unknown } | { readonly problem: string };

/**
 * Parses a response with the phase's schema. The services check the form fields, but not the refinements of
 * the schema.
 */
const readResponse = (run: PhaseRun, { input }: AnyAsk, said: Json): ParsedResponse => {
  const asked = run.given.question?.input ?? inputRequest(input, run.state.current());
  const problems = inputProblems(asked, said);
  if (problems.length > 0) return { problem: problems.join('\n') };
  if (input.kind !== 'form') return { response: said };
  const { success, data, error } = input.schema.safeParse(said);
  return success ? { response: data } : { problem: z.prettifyError(error) };
};

const expired = async (run: PhaseRun, { onExpired }: AnyAsk): Promise<NodeId> => {
  if (onExpired !== undefined) return nextOf(run, onExpired);
  const title = run.given.question?.title ?? run.order.node;
  const problem = `no answer in time: ${title}`;
  throw new StageError('respond', new HoldpointError('PROGRAM_INPUT_EXPIRED', problem));
};

const refused = async (
  run: PhaseRun,
  spec: AnyAsk,
  given: readonly unknown[],
  problem: string,
): Promise<PhaseEnd> => {
  const message = `The answer of ${run.given.answer?.by ?? 'an approver'} is invalid:\n${problem}`;
  const invalid = { code: 'APPROVALS_RESPONSE_INVALID', message };
  const error = phaseErrorOf(run, { error: invalid, attempt: run.order.attempt, stage: 'respond' });
  const question = (await questionFor(run, spec, 'respond', ...given, error)) ?? run.given.question;
  if (question === undefined) throw new StageError('respond', new Error(message));
  return { ...stateAndOutput(run), kind: 'input_requested', question: repeatedQuestion(question, message) };
};

const stateAndOutput = ({ given: { state, output } }: PhaseRun) => ({
  state,
  ...(output !== undefined && { output }),
});

const answerOf = ({ given: { answer } }: PhaseRun): ProgramAnswer => {
  if (answer !== undefined) return answer;
  throw new StageError('respond', new HoldpointError('RUNTIME_POISON', 'the answer is missing'));
};

/**
 * Handles a response. `given` precedes the error in the arguments of the prompt, and the response in those of
 * `next`; for an agent phase it is the output.
 */
const respond = async (
  run: PhaseRun,
  spec: AnyAsk,
  given: readonly unknown[],
  next: (state: AnyState, response: unknown) => Promise<NodeId>,
  after?: AnyHuman['after'],
): Promise<PhaseEnd> => {
  const answer = answerOf(run);
  if (answer.outcome === 'expired')
    return { kind: 'completed', ...stateAndOutput(run), next: await expired(run, spec) };
  const read = readResponse(run, spec, answer.response ?? null);
  if ('problem' in read) return refused(run, spec, given, read.problem);
  await runPart(run, 'respond', () => run.state.update((draft) => spec.onResponse(read.response, draft)));
  if (after !== undefined) await runPart(run, 'after', () => after(contextOf(run), read.response));
  const state = await stateAfter(run, after === undefined ? 'respond' : 'after');
  return { kind: 'completed', ...stateAndOutput(run), state, next: await next(state, read.response) };
};

export const respondToHuman = (run: PhaseRun, spec: AnyHuman): Promise<PhaseEnd> =>
  respond(run, spec, [], (state, response) => nextOf(run, spec.next, state, response), spec.after);

export const respondToAgent = async (
  run: PhaseRun,
  human: AnyAsk,
  next: Parameters<typeof nextOf<readonly [AnyState, unknown, unknown]>>[1],
): Promise<PhaseEnd> => {
  const output = await runPart(run, 'respond', () =>
    retryWhileUnavailable(run.clock, () => fullOutput(run.port, run.given.output)),
  );
  return respond(run, human, [output], (state, response) => nextOf(run, next, state, output, response));
};
