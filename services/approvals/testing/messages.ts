import { Choice } from '@holdpoint/contracts/approval/commands';
import fc from 'fast-check';
import type { InputRequest } from '@holdpoint/contracts/workflow/input';
import type { Json } from '@holdpoint/contracts/values/json';
import type { Act } from '@holdpoint/runtime/testing/run';
import type { ApprovalMessage } from '../src/approval/state.ts';
import {
  ada,
  APPROVAL,
  REQUESTED_AT,
  cancellation,
  CHOICE,
  DEADLINE,
  FORM,
  grace,
  inputFor,
  mallory,
  questionFor,
  requestFor,
  STUCK,
  stuckFor,
} from './requests.ts';

const digests = [undefined, requestFor().digest, requestFor('other line').digest];

/** Valid responses to each kind of input, and some invalid ones. */
const responses = fc.constantFrom<Json | undefined>(
  undefined,
  true,
  false,
  'b',
  'c',
  { env: 'prod', percent: 5 },
  { percent: 5, env: 'prod' },
  { env: 'prod', percent: 5.5 },
  [],
);

const message: fc.Arbitrary<ApprovalMessage> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<ApprovalMessage>({ kind: 'request', payload: requestFor() }) },
  { weight: 2, arbitrary: fc.constant<ApprovalMessage>({ kind: 'request', payload: questionFor() }) },
  { weight: 2, arbitrary: fc.constant<ApprovalMessage>({ kind: 'request', payload: stuckFor() }) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom<InputRequest>({ kind: 'approval' }, CHOICE, { kind: 'text', maxLength: 2 }, FORM)
      .map((input): ApprovalMessage => ({ kind: 'request', payload: inputFor(input) })),
  },
  fc.constantFrom<ApprovalMessage>(
    { kind: 'request', payload: requestFor('other line') },
    { kind: 'request', payload: requestFor('hello', { digest: 'f'.repeat(64) }) },
    { kind: 'request', payload: questionFor({ stuck: STUCK }) },
    { kind: 'request', payload: stuckFor({ input: CHOICE }) },
    { kind: 'request', payload: requestFor('hello', { audience: ['auditors'], timeoutMs: 1_000 }) },
    { kind: 'cancel', payload: cancellation },
    { kind: 'cancel', payload: { ...cancellation, reason: 'told in other words' } },
    { kind: 'cancel', payload: { id: APPROVAL, reason: 'task cancelled' } },
    { kind: 'timer', name: 'expiry', data: null },
    { kind: 'timer', name: 'other', data: null },
  ),
  fc
    .record({
      decision: fc.oneof(
        { weight: 2, arbitrary: fc.constantFrom(...Choice.options) },
        fc.constant('respond' as const),
      ),
      response: responses,
      comment: fc.option(fc.string({ unit: 'binary' }), { nil: undefined }),
      digest: fc.constantFrom(...digests),
      by: fc.constantFrom(ada, grace, mallory),
    })
    .map(({ by, ...said }): ApprovalMessage => ({ kind: 'decide', by, payload: { id: APPROVAL, ...said } })),
);

// Clocks may step back, so the times of a run are in no order.
const moment = fc.oneof(
  fc.constantFrom(REQUESTED_AT, DEADLINE - 1, DEADLINE, DEADLINE + 1),
  fc.integer({ min: REQUESTED_AT, max: DEADLINE * 2 }),
);

/** Messages about one approval, in any order and at any time. */
export const acts: fc.Arbitrary<readonly Act<ApprovalMessage>[]> = fc.array(
  fc.record({ message, now: moment }),
  {
    maxLength: 12,
  },
);
