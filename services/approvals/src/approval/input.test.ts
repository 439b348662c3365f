import { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import type { Choice } from '@holdpoint/contracts/approval/commands';
import { riskOf } from '@holdpoint/contracts/approval/views';
import type { InputRequest } from '@holdpoint/contracts/workflow/input';
import type { Json } from '@holdpoint/contracts/values/json';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { approvalView } from '../queries/requests.ts';
import {
  ada,
  APPROVAL,
  REQUESTED_AT,
  CHOICE,
  DEADLINE,
  decider,
  decides,
  DOUBT,
  FORM,
  grace,
  inputFor,
  linus,
  mallory,
  requestedBy,
  requestFor,
  resolvedHead,
  RULE,
  specOf,
  STUCK,
  stuckFor,
} from '../../testing/requests.ts';
import type { ApprovalMessage } from './state.ts';
import { RESPONSE_MAX_BYTES } from './response.ts';

const given = specFor(decider);
const asking = (input?: InputRequest) => requestedBy(inputFor(input));
const responds = (response: Json, by = ada): ApprovalMessage => decides(by, 'respond', { response });

const answeredWith = (input: InputRequest, response: Json) => {
  const run = runOf(decider, [
    { message: { kind: 'request', payload: inputFor(input) }, now: REQUESTED_AT },
    { message: decides(ada, 'respond', { response, comment: 'as we said' }), now: REQUESTED_AT + 1 },
  ]);
  const resolved = eventsOf(run).at(-1);
  if (resolved?.type !== 'resolved') throw new Error('nothing was said');
  return resolved;
};

const TEXT: InputRequest = { kind: 'text', maxLength: 12 };
const FILLED = { env: 'prod', percent: 5, watched: false };

describe('a question of a program', () => {
  test.each([
    ['yes or no', { kind: 'approval' }, false],
    ['a choice', CHOICE, 'b'],
    ['a text', TEXT, 'as it is\n'],
    ['a form', FORM, FILLED],
  ] as const)('a question for %s takes a response without a signature', (_, input, response) => {
    const resolved = answeredWith(input, response);
    const said = JSON.parse(JSON.stringify(resolved)) as unknown;
    expect(said).toEqual({
      ...resolvedHead,
      outcome: 'answered',
      response,
      by: 'ada',
      comment: 'as we said',
      digest: inputFor(input).digest,
      at: REQUESTED_AT + 1,
    });
    expect(ApprovalEvent.parse(said)).toEqual(said);
  });

  test.each([
    ['approve', true],
    ['reject', false],
  ] as const)('a yes-or-no question also takes %s', (choice, response) => {
    given(asking())
      .when(decides(ada, choice, { comment: 'fine' }), REQUESTED_AT + 1)
      .thenEmitsLike({ type: 'resolved', outcome: 'answered', response, by: 'ada', comment: 'fine' })
      .thenAnswers({ id: APPROVAL, status: 'answered', by: 'ada' });
    const closed = answeredWith({ kind: 'approval' }, response);
    given(asking(), closed)
      .when(decides(ada, choice), REQUESTED_AT + 2)
      .thenNothing()
      .thenAnswers({ id: APPROVAL, status: 'answered', by: 'ada' });
  });

  test.each<readonly [InputRequest, Json | undefined, RegExp]>([
    [{ kind: 'approval' }, 'yes', /enter true or false/],
    [CHOICE, 'c', /one of a, b/],
    [CHOICE, undefined, /a response is required/],
    [TEXT, 'longer than this', /at most 12 characters/],
    [TEXT, null, /enter a text/],
    [FORM, { ...FILLED, env: 'moon', percent: 0 }, /env: one of test, prod; percent: at least 1/],
    [FORM, { ...FILLED, more: 1 }, /more: unknown field/],
  ])('the question %j does not take %j and stays pending', (input, response, problem) => {
    given(asking(input))
      .when(decides(ada, 'respond', response === undefined ? {} : { response }), REQUESTED_AT + 1)
      .thenNothing()
      .thenRefuses('APPROVALS_RESPONSE_INVALID');
    const run = runOf(decider, [
      { message: { kind: 'request', payload: inputFor(input) }, now: REQUESTED_AT },
      { message: decides(ada, 'respond', response === undefined ? {} : { response }), now: REQUESTED_AT + 1 },
    ]);
    expect(run.at(-1)?.made.answer).toMatchObject({
      error: {
        message: expect.stringMatching(problem) as unknown,
        details: { problems: expect.any(Array) as unknown },
      },
    });
    expect(run.at(-1)?.after.status).toBe('pending');
  });

  test('an oversized response is refused', () => {
    const fields = Array.from({ length: 25 }, (_, i) => ({
      type: 'text' as const,
      name: `f${String(i)}`,
      required: false,
    }));
    const filled = (size: number) => Object.fromEntries(fields.map(({ name }) => [name, '€'.repeat(size)]));
    const form = asking({ kind: 'form', fields });
    given(form)
      .when(responds(filled(9_000)), REQUESTED_AT + 1)
      .thenRefuses('APPROVALS_RESPONSE_INVALID');
    given(form)
      .when(responds(filled(3_000)), REQUESTED_AT + 1)
      .thenEmitsLike({ type: 'resolved', outcome: 'answered' });
    expect(Buffer.byteLength(JSON.stringify(filled(3_000)))).toBeLessThan(RESPONSE_MAX_BYTES);
  });

  test.each([
    ['request_changes', { kind: 'approval' }],
    ['applied', { kind: 'approval' }],
    ['skip', CHOICE],
    ['approve', CHOICE],
    ['reject', TEXT],
    ['approve', FORM],
  ] as const)('a question of a program does not take %s', (choice, input) => {
    given(asking(input))
      .when(decides(ada, choice), REQUESTED_AT + 1)
      .thenRefuses('APPROVALS_NO_CHOICE');
  });

  test('only the decision respond takes a response', () => {
    for (const message of [
      decides(ada, 'approve', { response: false }),
      decides(ada, 'reject', { response: false }),
    ])
      given(asking())
        .when(message, REQUESTED_AT + 1)
        .thenRefuses('APPROVALS_RESPONSE_INVALID');
    given(requestedBy(requestFor()))
      .when(decides(ada, 'approve', { response: true }), REQUESTED_AT + 1)
      .thenRefuses('APPROVALS_RESPONSE_INVALID');
  });

  test('audience and four eyes apply to questions of programs', () => {
    given(asking(CHOICE))
      .when(responds('a', mallory), REQUESTED_AT + 1)
      .thenEmitsLike({ type: 'decision_refused', by: 'mallory' })
      .thenAnswersError('APPROVALS_NOT_ENTITLED');
    given({ ...asking(CHOICE), policy: { fourEyes: true } })
      .when(responds('a', linus), REQUESTED_AT + 1)
      .thenAnswersError('APPROVALS_FOUR_EYES');
  });

  test('one person answers a question, even with a quorum', () => {
    const policy = { quorum: 3, veto: false, decisions: ['request_changes' as const] };
    for (const message of [responds(true), decides(ada, 'approve')])
      given({ ...asking(), policy })
        .when(message, REQUESTED_AT + 1)
        .thenEmitsLike({ type: 'resolved', outcome: 'answered', response: true, by: 'ada' });
  });

  test('questions of programs take no rules and no bulk decisions', () => {
    given(asking())
      .when({ kind: 'rule_applies', rule: RULE, author: 'ada' }, REQUESTED_AT + 1)
      .thenNothing();
    given(asking())
      .when(
        decides(ada, 'approve', { remember: specOf({ match: { capability: '*', target: '*' } }) }),
        REQUESTED_AT + 1,
      )
      .thenRefuses('APPROVALS_RULE_REFUSED');
    given(asking())
      .when({ ...decides(ada, 'approve'), isOneOfMany: true }, REQUESTED_AT + 1)
      .thenRefuses('APPROVALS_NO_CHOICE');
  });

  test('a question of a program has one answer; repeats are acknowledged and later answers refused', () => {
    const answered = answeredWith(FORM, FILLED);
    const again = { watched: false, percent: 5, env: 'prod' };
    given(asking(FORM), answered)
      .when(responds(again), DEADLINE + 1)
      .thenNothing()
      .thenAnswers({ id: APPROVAL, status: 'answered', by: 'ada' });
    for (const [who, choice, response] of [
      [ada, 'respond', { ...FILLED, percent: 6 }],
      [grace, 'respond', FILLED],
      [ada, 'approve', undefined],
    ] as const satisfies readonly (readonly [typeof ada, Choice, unknown])[])
      given(asking(FORM), answered)
        .when(decides(who, choice, response === undefined ? {} : { response }), REQUESTED_AT + 2)
        .thenAnswersError('APPROVALS_ALREADY_DECIDED');
  });

  test('the error for a late answer contains a shortened response', () => {
    const text: InputRequest = { kind: 'text' };
    const run = runOf(decider, [
      { message: { kind: 'request', payload: inputFor(text) }, now: REQUESTED_AT },
      { message: responds('so long '.repeat(500)), now: REQUESTED_AT + 1 },
      { message: responds('otherwise', grace), now: REQUESTED_AT + 2 },
    ]);
    const { answer } = run.at(-1)?.made ?? {};
    if (answer === undefined || !('error' in answer)) throw new Error('it was taken');
    expect(answer.error.message).toContain('is answered with "so long so long');
    expect(answer.error.message.length).toBeLessThan(300);
  });

  test('a question expires under every policy', () => {
    given({ ...asking(), policy: { onExpiry: 'reject' } })
      .when({ kind: 'timer', name: 'expiry', data: null }, DEADLINE)
      .thenEmitsLike({ type: 'resolved', outcome: 'expired', surface: 'clock' });
    given(asking(CHOICE))
      .when(responds('a'), DEADLINE)
      .thenEmitsLike({ type: 'resolved', outcome: 'expired' })
      .thenAnswersError('APPROVALS_ALREADY_DECIDED');
  });

  test('a repeated question receives its answer again', () => {
    const answered = answeredWith(CHOICE, 'a');
    given(asking(CHOICE), answered)
      .when({ kind: 'request', payload: inputFor(CHOICE) }, REQUESTED_AT + 9)
      .thenEmits()
      .thenSends({ data: answered });
  });

  test('another question with the same id is refused', () => {
    const { input: _, ...effect } = inputFor();
    for (const payload of [effect, { ...effect, stuck: STUCK }, inputFor(CHOICE), inputFor(TEXT)])
      given(asking())
        .when({ kind: 'request', payload }, REQUESTED_AT + 1)
        .thenRefuses('APPROVALS_DIGEST_MISMATCH');
  });

  test('a request with two questions is refused', () => {
    for (const payload of [stuckFor({ input: CHOICE }), inputFor(CHOICE, { inDoubt: DOUBT })])
      given().when({ kind: 'request', payload }, REQUESTED_AT).thenRefuses('CONTRACT_INVALID');
  });

  test('the view contains question and response, with low risk', () => {
    const state = [asking(CHOICE), answeredWith(CHOICE, 'b')].reduce(
      (before, event) => decider.evolve(before, event),
      decider.initial,
    );
    if (state.status !== 'closed') throw new Error('it is not closed');
    expect(approvalView(state)).toMatchObject({
      input: CHOICE,
      risk: 'low',
      status: 'answered',
      response: 'b',
      decidedBy: 'ada',
    });
    expect(riskOf(inputFor().effect)).toBe('low');
  });

  test('no invalid response ever answers a question', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<InputRequest>({ kind: 'approval' }, CHOICE, TEXT, FORM),
        fc.jsonValue() as fc.Arbitrary<Json>,
        (input, response) => {
          const [, said] = runOf(decider, [
            { message: { kind: 'request', payload: inputFor(input) }, now: REQUESTED_AT },
            { message: responds(response), now: REQUESTED_AT + 1 },
          ]);
          const isTaken = said?.after.status === 'closed';
          const fits =
            input.kind === 'approval'
              ? typeof response === 'boolean'
              : input.kind === 'choice'
                ? response === 'a' || response === 'b'
                : input.kind === 'text' &&
                  typeof response === 'string' &&
                  response.trim() !== '' &&
                  response.length <= 12;
          // Nothing that is made up here fills the form.
          expect(isTaken).toBe(fits);
        },
      ),
    );
  });
});
