import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { ProgramQuestion } from '@holdpoint/contracts/program/work';
import { DECISION_MS } from '@holdpoint/contracts/workflow/side-effect';
import { z } from 'zod';
import { inputRequest, type Prompt } from '../../definition/ask.ts';
import type { AnyAsk } from '../../definition/phase.ts';
import type { Stage } from './failure.ts';
import { runPart, type PhaseRun } from './phase-run.ts';

const TITLE_MAX = 500;
const BODY_MAX = 32_768;

const shorten = (text: string, max: number): string => {
  const plain = text.replaceAll('\0', '').toWellFormed();
  return plain.length <= max ? plain : `${plain.slice(0, max - 1).toWellFormed()}…`;
};

/** The prompt as sent; long texts are cut. */
export const shownPrompt = ({ title, body }: Prompt): Pick<ProgramQuestion, 'title' | 'body'> => ({
  title: shorten(title, TITLE_MAX),
  ...(body !== undefined && body !== '' && { body: shorten(body, BODY_MAX) }),
});

/**
 * The question of a phase; undefined when the prompt returns nothing. Throws `CONTRACT_INVALID` for invalid
 * prompts.
 */
export const questionFor = (
  run: PhaseRun,
  {
    prompt,
    input,
    audience,
    onExpired,
    expiresMs = onExpired === undefined ? undefined : DECISION_MS,
  }: AnyAsk,
  stage: Stage,
  ...given: readonly unknown[]
): Promise<ProgramQuestion | undefined> =>
  runPart(run, stage, () => {
    const state = run.state.current();
    const shown = typeof prompt === 'function' ? prompt(state, ...given) : prompt;
    if (shown === undefined) return undefined;
    const { success, data, error } = ProgramQuestion.safeParse({
      ...shownPrompt(shown),
      input: inputRequest(input, state),
      ...(audience !== undefined && { audience: [...audience] }),
      ...(expiresMs !== undefined && { timeoutMs: expiresMs }),
    });
    if (success) return data;
    throw new HoldpointError('CONTRACT_INVALID', `invalid question: ${z.prettifyError(error)}`);
  });

/** The same question again, with the problem of the last answer first. */
export const repeatedQuestion = (question: ProgramQuestion, problem: string): ProgramQuestion => ({
  ...question,
  ...shownPrompt({ title: question.title, body: [problem, question.body ?? ''].join('\n\n').trim() }),
});
