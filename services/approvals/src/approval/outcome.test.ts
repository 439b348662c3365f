import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import { EffectId } from '@holdpoint/contracts/values/ids';
import { continued, historyOf, specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import {
  ada,
  APPROVAL,
  ASKED,
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
  historyOf(decider, [request, ASKED], [decides(ada, verb), ASKED + 1]);
const approved = after('approve');

const effect = requestFor().effectId;
const told = (outcome: string, epoch: number, of = effect): ApprovalMessage => ({
  kind: 'outcome',
  fact: { id: APPROVAL, effect: of, outcome, epoch },
});
const noted = (outcome: string, epoch: number, at = ASKED + 2): ApprovalEvent => ({
  type: 'effect_outcome_recorded',
  id: APPROVAL,
  effect,
  outcome,
  epoch,
  at,
});

describe('what became of an effect', () => {
  test('is noted with what approved it, and changes nothing of the decision', () => {
    given(...approved)
      .when(told('applied', 1), ASKED + 2)
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

  test('is asked about once nobody has told of it, ever more rarely, and in the end no more', () => {
    const ask = { kind: 'ask_outcome', approval: APPROVAL, effect: requestFor().effectId } as const;
    given(...approved)
      .when(timer('outcome', { asks: 1 }), ASKED + 120_001)
      .thenEmits()
      .thenTimes({ set: 'outcome', dueAt: ASKED + 120_001 + 360_000, data: { asks: 2 } })
      .thenStarts(ask);
    given(...approved, noted('in_doubt', 1))
      .when(timer('outcome', { asks: 9 }), ASKED + 120_001)
      .thenTimes({ set: 'outcome', dueAt: ASKED + 120_001 + 21_600_000, data: { asks: 10 } })
      .thenStarts(ask);
    given(...approved)
      .when(timer('outcome', { asks: 26 }), ASKED + 120_001)
      .thenEmits()
      .thenTimes({ clear: 'outcome' })
      .thenStarts();
    given(...approved, noted('applied', 1))
      .when(timer('outcome', { asks: 1 }), ASKED + 120_001)
      .thenTimes({ clear: 'outcome' })
      .thenStarts();
  });

  test('is asked about until it is applied, or nothing more can come of it', () => {
    const failed = noted('failed_clean', 1);
    given(...approved)
      .when(told('failed_clean', 1), ASKED + 2)
      .thenEmits(failed)
      .thenTimes();
    given(...approved, failed)
      .when(timer('outcome', { asks: 1 }), ASKED + 120_001)
      .thenStarts({ kind: 'ask_outcome', approval: APPROVAL, effect: requestFor().effectId });
    given(...approved, failed)
      .when(timer('outcome', { asks: 5 }), ASKED + 4 * 3_600_000)
      .thenTimes({ clear: 'outcome' })
      .thenStarts();
  });

  test('is noted once, however often it is told', () => {
    given(...approved, noted('applied', 1))
      .when(told('applied', 1), ASKED + 3)
      .thenNothing();
  });

  test.each([
    ['a doubt, and then what it came to', noted('in_doubt', 1), told('applied', 1)],
    ['a doubt, and then that it did not happen', noted('in_doubt', 1), told('not_applied', 1)],
    ['a failure, and then a later start', noted('failed_clean', 1), told('applied', 2)],
    ['a doubt of a later start', noted('failed_clean', 1), told('in_doubt', 2)],
    ['a refusal, and then that it ran', noted('refused', 0), told('applied', 1)],
  ])('is told anew by %s', (_, before, message) => {
    given(...approved, before)
      .when(message, ASKED + 3)
      .thenEmitsLike({ type: 'effect_outcome_recorded', ...(message.kind === 'outcome' && message.fact) });
  });

  test.each([
    ['a doubt of the same start', noted('applied', 1), told('in_doubt', 1)],
    ['another word on what is certain', noted('applied', 1), told('failed_clean', 1)],
    ['an earlier start', noted('applied', 2), told('failed_clean', 1)],
    ['a doubt of an earlier start', noted('in_doubt', 2), told('in_doubt', 1)],
    ['a refusal of a repeated order', noted('applied', 1), told('refused', 0)],
  ])('is not overwritten by %s', (_, before, message) => {
    given(...approved, before)
      .when(message, ASKED + 3)
      .thenNothing();
  });

  test('of another effect is another approval’s', () => {
    given(...approved)
      .when(told('applied', 1, EffectId.parse('e-other')), ASKED + 2)
      .thenNothing();
  });

  test('is no matter of what approved nothing', () => {
    for (const history of [[], [requested], after('reject')])
      given(...history)
        .when(told('applied', 1), ASKED + 2)
        .thenNothing();
  });

  test('comes whenever it comes: an order may be told of long after', () => {
    const history = continued(
      decider,
      approved,
      [told('in_doubt', 1), ASKED + 10],
      [told('applied', 1), ASKED + 20],
    );
    given(...history)
      .when(told('in_doubt', 1), ASKED + 30)
      .thenNothing();
  });
});
