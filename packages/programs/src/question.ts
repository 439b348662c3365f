import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { effectIdOf, inputIdOf, jobOf } from '@holdpoint/contracts/values/ids';
import { asSent, type Json, type JsonObject } from '@holdpoint/contracts/values/json';
import type { ProgramAnswer, ProgramQuestion } from '@holdpoint/contracts/program/work';
import { checkpoint, type DecisionBuilder } from './decision-builder.ts';
import { failTask } from './ending.ts';
import { orderPhase } from './order-phase.ts';
import { requestAnswer, QUESTION_TIMER } from './outgoing.ts';
import { startNextAttempt } from './retry.ts';
import type { OpenQuestion, Program } from './state.ts';

/** A question in the form of an effect, because people decide about effects. It is never executed. */
const questionAsEffect = (task: Program, asks: ProgramQuestion, question: number): CanonicalEffect => ({
  task: task.id,
  node: task.node,
  uses: 'control.input',
  args: { input: asSent(asks.input), title: asks.title, ...(asks.body !== undefined && { body: asks.body }) },
  kind: 'other',
  effectClass: 'idempotent',
  target: `job:${jobOf(task.id, task.node)}`,
  idempotencyKey: `input:${String(question)}`,
});

type About =
  | { readonly about: 'failure' }
  | { readonly about: 'phase'; readonly state: JsonObject; readonly output?: Json | undefined };

/** Records the question, then asks people. */
export const askQuestion = (builder: DecisionBuilder, asks: ProgramQuestion, about: About): void => {
  const { id, node, visit, attempt, questions } = builder.task();
  checkpoint(builder, 'before a question');
  const question = questions + 1;
  const effect = questionAsEffect(builder.task(), asks, question);
  builder.emit({
    type: 'input_requested',
    node,
    visit,
    attempt,
    approval: inputIdOf(id, question),
    effectId: effectIdOf(id, node, effect.idempotencyKey),
    effect,
    digest: effectDigest(effect),
    question,
    asks,
    ...about,
  });
  sendQuestion(builder, 0);
};

export const sendQuestion = (builder: DecisionBuilder, times: number): void => {
  const { question } = builder.task();
  if (question === undefined) return;
  builder.send(requestAnswer(builder.task(), question, times));
  builder.questionTimer(QUESTION_TIMER, times);
};

/** The choices after a failure. */
export const RETRY = 'retry';
const FAIL = 'fail';

const TITLE_MAX = 500;

export const askAboutFailure = (
  builder: DecisionBuilder,
  { title, body }: { readonly title?: string | undefined; readonly body?: string | undefined },
  message: string,
): void => {
  const { node, id } = builder.task();
  askQuestion(
    builder,
    {
      title: (title ?? `${jobOf(id, node)} failed: ${message}`).slice(0, TITLE_MAX).toWellFormed(),
      ...(body !== undefined && { body }),
      input: {
        kind: 'choice',
        options: [
          { value: RETRY, label: 'Try again' },
          { value: FAIL, label: 'Let the task fail' },
        ],
      },
    },
    { about: 'failure' },
  );
};

const ANSWERS: ReadonlySet<ApprovalResolved['outcome']> = new Set(['answered', 'expired', 'cancelled']);

/** The open question, to ask it again. */
const aboutOf = ({ about }: OpenQuestion, { paused }: Program): About =>
  about === 'phase' && paused !== undefined
    ? { about, state: paused.state, ...(paused.output !== undefined && { output: paused.output }) }
    : { about: 'failure' };

/** An answer counts only for the open question. The expiry of a question without a time limit opens a new one. */
export const onAnswer = (builder: DecisionBuilder, event: ApprovalResolved): void => {
  const task = builder.task();
  const { question } = task;
  if (question?.approval !== event.id || task.status !== 'asked') return;
  // A decision about an effect is no answer to a question: it may be forged.
  if (!ANSWERS.has(event.outcome)) return;
  const said = event.outcome === 'answered' && event.response !== undefined;
  const answer: ProgramAnswer = {
    outcome: said ? 'answered' : 'expired',
    by: event.by,
    ...(said && { response: event.response }),
    ...(event.comment !== undefined && { comment: event.comment }),
  };
  builder.timer({ clear: QUESTION_TIMER });
  builder.emit({
    type: 'input_received',
    node: task.node,
    visit: task.visit,
    attempt: task.attempt,
    approval: event.id,
    answer,
  });
  if (event.outcome === 'expired' && question.asks.timeoutMs === undefined)
    return askQuestion(builder, question.asks, aboutOf(question, task));
  if (question.about === 'phase') return orderPhase(builder, 'respond');
  return onFailureDecision(builder, answer);
};

const onFailureDecision = (builder: DecisionBuilder, answer: ProgramAnswer): void => {
  if (answer.response === RETRY) return startNextAttempt(builder, 0, { by: answer.by });
  const { failures, node } = builder.task();
  const why = answer.outcome === 'expired' ? 'no answer before the deadline' : `${answer.by} chose to fail`;
  const last = failures.at(-1)?.error ?? errorBody('PROGRAM_PHASE_FAILED', why);
  return failTask(builder, { ...last, message: `${last.message} (${why})` }, node);
};
