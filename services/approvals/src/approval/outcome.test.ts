import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import { EffectId } from '@holdpoint/contracts/values/ids';
import { continued, historyOf, specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import {
  ada,
  APPROVAL,
  REQUESTED_AT,
  decider,
  decides,
  requested,
  requestFor,
  timer,
} from '../../testing/requests.ts';
import type { ApprovalMessage } from './state.ts';

const given = specFor(decider);
const request: ApprovalMessage = { kind: 'request', payload: requestFor() };
const after = (verb: 'approve' | 'reject') =>
  historyOf(decider, [request, REQUESTED_AT], [decides(ada, verb), REQUESTED_AT + 1]);
const approved = after('approve');

const effect = requestFor().effectId;
const told = (outcome: string, epoch: number, of = effect): ApprovalMessage => ({
  kind: 'outcome',
  fact: { id: APPROVAL, effect: of, outcome, epoch },
});
const noted = (outcome: string, epoch: number, at = REQUESTED_AT + 2): ApprovalEvent => ({
  type: 'effect_outcome_recorded',
  id: APPROVAL,
  effect,
  outcome,
  epoch,
  at,
});

describe('the outcome of an effect', () => {
  test('an outcome is recorded with its approval and leaves the decision unchanged', () => {
    given(...approved)
      .when(told('applied', 1), REQUESTED_AT + 2)
      .thenEmits(noted('applied', 1))
      .thenTimes({ clear: 'outcome' })
      .thenStarts()
      .thenSends();
    const state = [...approved, noted('applied', 1)].reduce(
      (before, event) => decider.evolve(before, event),
      decider.initial,
    );
    expect(state).toMatchObject({ status: 'closed', decided: { outcome: 'approved', by: 'ada' } });
  });

  test('the executor is asked for a missing outcome at growing intervals, a limited number of times', () => {
    const ask = { kind: 'ask_outcome', approval: APPROVAL, effect: requestFor().effectId } as const;
    given(...approved)
      .when(timer('outcome', { asks: 1 }), REQUESTED_AT + 120_001)
      .thenEmits()
      .thenTimes({ set: 'outcome', dueAt: REQUESTED_AT + 120_001 + 360_000, data: { asks: 2 } })
      .thenStarts(ask);
    given(...approved, noted('in_doubt', 1))
      .when(timer('outcome', { asks: 9 }), REQUESTED_AT + 120_001)
      .thenTimes({ set: 'outcome', dueAt: REQUESTED_AT + 120_001 + 21_600_000, data: { asks: 10 } })
      .thenStarts(ask);
    given(...approved)
      .when(timer('outcome', { asks: 26 }), REQUESTED_AT + 120_001)
      .thenEmits()
      .thenTimes({ clear: 'outcome' })
      .thenStarts();
    given(...approved, noted('applied', 1))
      .when(timer('outcome', { asks: 1 }), REQUESTED_AT + 120_001)
      .thenTimes({ clear: 'outcome' })
      .thenStarts();
  });

  test('the executor is asked until the effect is applied or the grant has expired', () => {
    const failed = noted('failed_clean', 1);
    given(...approved)
      .when(told('failed_clean', 1), REQUESTED_AT + 2)
      .thenEmits(failed)
      .thenTimes();
    given(...approved, failed)
      .when(timer('outcome', { asks: 1 }), REQUESTED_AT + 120_001)
      .thenStarts({ kind: 'ask_outcome', approval: APPROVAL, effect: requestFor().effectId });
    given(...approved, failed)
      .when(timer('outcome', { asks: 5 }), REQUESTED_AT + 4 * 3_600_000)
      .thenTimes({ clear: 'outcome' })
      .thenStarts();
  });

  test('a repeated outcome is recorded once', () => {
    given(...approved, noted('applied', 1))
      .when(told('applied', 1), REQUESTED_AT + 3)
      .thenNothing();
  });

  test.each([
    ['a result after in doubt', noted('in_doubt', 1), told('applied', 1)],
    ['not applied after in doubt', noted('in_doubt', 1), told('not_applied', 1)],
    ['a later epoch after a failure', noted('failed_clean', 1), told('applied', 2)],
    ['in doubt of a later epoch', noted('failed_clean', 1), told('in_doubt', 2)],
    ['a result after a refusal', noted('refused', 0), told('applied', 1)],
  ])('the recorded outcome changes with %s', (_, before, message) => {
    given(...approved, before)
      .when(message, REQUESTED_AT + 3)
      .thenEmitsLike({ type: 'effect_outcome_recorded', ...(message.kind === 'outcome' && message.fact) });
  });

  test.each([
    ['in doubt of the same epoch', noted('applied', 1), told('in_doubt', 1)],
    ['another outcome of the same epoch', noted('applied', 1), told('failed_clean', 1)],
    ['an earlier epoch', noted('applied', 2), told('failed_clean', 1)],
    ['in doubt of an earlier epoch', noted('in_doubt', 2), told('in_doubt', 1)],
    ['a refusal of a repeated order', noted('applied', 1), told('refused', 0)],
  ])('the recorded outcome does not change with %s', (_, before, message) => {
    given(...approved, before)
      .when(message, REQUESTED_AT + 3)
      .thenNothing();
  });

  test('the outcome of another effect is ignored', () => {
    given(...approved)
      .when(told('applied', 1, EffectId.parse('e-other')), REQUESTED_AT + 2)
      .thenNothing();
  });

  test('a request without a grant records no outcome', () => {
    for (const history of [[], [requested], after('reject')])
      given(...history)
        .when(told('applied', 1), REQUESTED_AT + 2)
        .thenNothing();
  });

  test('an outcome is recorded however late it arrives', () => {
    const history = continued(
      decider,
      approved,
      [told('in_doubt', 1), REQUESTED_AT + 10],
      [told('applied', 1), REQUESTED_AT + 20],
    );
    given(...history)
      .when(told('in_doubt', 1), REQUESTED_AT + 30)
      .thenNothing();
  });
});
