import type { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { ApprovalId } from '@holdpoint/contracts/values/ids';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, test } from 'vitest';
import {
  about,
  decider,
  EFFECT,
  effectOf,
  forgedGrantFor,
  GRANT_ENDS,
  grantFor,
  NOW,
  orderFor,
  slot,
  resolveFor,
} from '../../testing/orders.ts';
import type { EffectMessage } from './decide.ts';

const given = specFor(decider);
const effect = effectOf({ uses: 'cap.http.request', effectClass: 'opaque' });
const order = orderFor(effect);
const claim: EffectMessage = { kind: 'claim', id: EFFECT, slot };
const says = (
  answer: InDoubtAnswer,
  epoch = 2,
  change: Parameters<typeof resolveFor>[3] = {},
): EffectMessage => ({ kind: 'resolve', payload: resolveFor(answer, epoch, effect, change) });

const started = (epoch: number): EffectEvent => ({
  type: 'started',
  ...about,
  order,
  epoch,
  worker: 'worker-1',
});
const doubt = (epoch: number, next: 'repeat' | 'person' = 'person'): EffectEvent => ({
  type: 'in_doubt',
  ...about,
  epoch,
  reason: 'the target answered 500',
  next,
  cause: 'outcome_unknown',
});
const answered = (answer: InDoubtAnswer, epoch = 2, until?: number): EffectEvent => ({
  type: 'answered',
  ...about,
  epoch,
  answer,
  by: 'ada',
  approval: ApprovalId.parse('a-1'),
  ...(until !== undefined && { until }),
});
const calledOff: EffectEvent = { type: 'cancel_requested', ...about, reason: 'over' };

describe('an operator answers an in-doubt question', () => {
  test('the answer "applied" is recorded, also in the form of a stage result', () => {
    given(started(1), doubt(2))
      .when(says('applied'), NOW)
      .thenEmits(answered('applied'), {
        type: 'applied',
        ...about,
        epoch: 2,
        outputs: { outcome: 'succeeded', detail: 'reported by ada' },
      })
      .thenTimes()
      .thenStarts();
  });

  test('the answer "not applied" is recorded, and a later attempt may begin', () => {
    const settled: EffectEvent = {
      type: 'not_applied',
      ...about,
      epoch: 2,
      reason: 'reported by ada',
      by: 'person',
    };
    given(started(1), doubt(2))
      .when(says('not_applied'), NOW)
      .thenEmits(answered('not_applied'), settled)
      .thenTimes()
      .thenStarts();
    given(started(1), doubt(2), answered('not_applied'), settled)
      .when({ kind: 'run', payload: { ...order, attempt: 2 }, slot }, NOW)
      .thenEmitsLike({ type: 'started', attempt: 2, epoch: 3 });
  });

  test('the answer "retry" runs the effect once it has a slot', () => {
    given(started(1), doubt(2))
      .when(says('retry'), NOW)
      .thenEmits(answered('retry', 2, GRANT_ENDS))
      .thenTimes({ set: 'slot', dueAt: NOW + 5_000 })
      .thenStarts({ kind: 'await_slot', order });
    given(started(1), doubt(2), answered('retry', 2, GRANT_ENDS))
      .when(claim, NOW)
      .thenEmits(started(3))
      .thenStarts({ kind: 'start', order, epoch: 3, slot: slot.slot });
  });

  test('the answer goes to the attempt that asked, although an earlier one began the effect', () => {
    const asks = {
      kind: 'resolve',
      payload: { ...resolveFor('not_applied', 2, effect), attempt: 2 },
    } as const;
    const [said, settled] = [
      { ...answered('not_applied'), attempt: 2 },
      { type: 'not_applied', ...about, attempt: 2, epoch: 2, reason: 'reported by ada', by: 'person' },
    ] as const;
    given(started(1), doubt(2)).when(asks, NOW).thenEmits(said, settled);
    given(started(1), doubt(2), said, settled)
      .when(asks, NOW)
      .thenEmits()
      .thenSends({ data: { type: 'not_applied', attempt: 2 } });
    given(started(1), doubt(2), said, settled)
      .when({ kind: 'run', payload: { ...order, attempt: 2 }, slot }, NOW)
      .thenEmitsLike({ type: 'duplicate_prevented', attempt: 2 })
      .thenStarts();
    const again = { ...answered('retry', 2, GRANT_ENDS), attempt: 2 };
    given(started(1), doubt(2), again)
      .when(claim, NOW)
      .thenEmitsLike({ type: 'started', attempt: 2, epoch: 3 });
  });

  test('a repeated statement is answered with the recorded outcome', () => {
    for (const answer of ['applied', 'not_applied'] as const)
      given(started(1), doubt(2), { type: 'applied', ...about, epoch: 2, outputs: {} })
        .when(says(answer), NOW)
        .thenEmits()
        .thenStarts()
        .thenSends({ data: { type: 'applied', epoch: 2 } });
    given(started(1), doubt(2), answered('retry', 2, GRANT_ENDS), started(3))
      .when(says('retry'), NOW)
      .thenNothing();
  });
});

describe('the answer "retry"', () => {
  const again = answered('retry', 2, GRANT_ENDS + 60_000);

  test('a retry is valid after its grant has expired, until the statement expires', () => {
    given(started(1), doubt(2), again).when(claim, GRANT_ENDS).thenEmits(started(3));
    given(started(1), doubt(2), again)
      .when(claim, GRANT_ENDS + 60_000)
      .thenEmitsLike({ type: 'in_doubt', epoch: 3, next: 'person' })
      .thenStarts();
  });

  test('a retry ends with its statement, although the grant is valid', () => {
    given(started(1), doubt(2), answered('retry', 2, NOW))
      .when(claim, NOW)
      .thenEmits(doubt(3))
      .thenTimes({ clear: 'lease' }, { clear: 'slot' })
      .thenStarts();
  });

  test('a retry allows one start, and the next doubt goes to the operator again', () => {
    given(started(1), doubt(2), again, started(3))
      .when({ kind: 'outcome', epoch: 3, outcome: { kind: 'unknown', reason: 'reset' } }, NOW)
      .thenEmitsLike({ type: 'in_doubt', epoch: 4, next: 'person' });
    given(started(1), doubt(2), again, started(3), doubt(4, 'repeat'))
      .when(claim, GRANT_ENDS)
      .thenEmitsLike({ type: 'in_doubt', epoch: 5, next: 'person' })
      .thenStarts();
  });

  test('a clean failure of a retry keeps the doubt about earlier starts', () => {
    given(started(1), doubt(2), again, started(3))
      .when(
        { kind: 'outcome', epoch: 3, outcome: { kind: 'failed_clean', error: { code: 'X', message: 'no' } } },
        NOW,
      )
      .thenEmitsLike(
        { type: 'in_doubt', epoch: 4, next: 'person' },
        { type: 'superseded', epoch: 3, observed: 'failed_clean' },
      );
  });

  test('a retry ends when a journal has a start that the ledger lost', () => {
    given(started(1), doubt(2), again)
      .when({ kind: 'journalled', order, epoch: 5 }, NOW)
      .thenEmitsLike({ type: 'in_doubt', epoch: 6, next: 'person' });
  });

  test('a retry withdraws a cancellation that the operator knew', () => {
    given(started(1), calledOff, doubt(2), answered('retry', 2, GRANT_ENDS))
      .when(claim, NOW)
      .thenEmits(started(3));
    given(started(1), calledOff, doubt(2), answered('retry', 2, GRANT_ENDS), started(3))
      .when({ kind: 'heartbeat', epoch: 3 }, NOW)
      .thenStarts();
  });

  test('a cancellation invalidates an earlier answer', () => {
    given(started(1), doubt(2), calledOff, doubt(3))
      .when(says('retry'), NOW)
      .thenEmits()
      .thenStarts()
      .thenSends({ data: { type: 'in_doubt', epoch: 3, next: 'person' } });
    given(started(1), doubt(2), answered('retry', 2, GRANT_ENDS))
      .when({ kind: 'cancel', payload: { ...about, reason: 'over' } }, NOW)
      .thenEmitsLike({ type: 'cancel_requested' }, { type: 'in_doubt', epoch: 3, next: 'person' })
      .thenTimes({ clear: 'lease' }, { clear: 'slot' });
  });
});

describe('statements', () => {
  test.each([
    ['a statement with a forged signature', forgedGrantFor(effect)],
    ['a grant instead of a statement', grantFor(effect)],
    ['a text that is not a statement', 'x'],
  ])('%s is refused', (_, statement) => {
    given(started(1), doubt(2))
      .when({ kind: 'resolve', payload: { ...about, statement } }, NOW)
      .thenRefuses('EXECUTOR_STATEMENT_INVALID');
  });

  test('a statement about another effect is refused', () => {
    const elsewhere = resolveFor('applied', 2, effectOf({ idempotencyKey: 'another' }));
    given(started(1), doubt(2))
      .when({ kind: 'resolve', payload: { ...elsewhere, id: EFFECT } }, NOW)
      .thenRefuses('EXECUTOR_STATEMENT_INVALID');
  });

  test('a statement about other arguments under the same key is refused', () => {
    given(started(1), doubt(2))
      .when({ kind: 'resolve', payload: resolveFor('applied', 2, effectOf()) }, NOW)
      .thenRefuses('EXECUTOR_STATEMENT_INVALID');
  });

  test('a statement about an unknown effect is refused', () => {
    given().when(says('applied'), NOW).thenRefuses('EXECUTOR_UNKNOWN_EFFECT');
    given({ type: 'cancelled', ...about, reason: 'over' })
      .when(says('applied'), NOW)
      .thenRefuses('EXECUTOR_UNKNOWN_EFFECT');
  });

  test.each([1, 3])('a statement about doubt %i does not resolve doubt 2', (epoch) => {
    given(started(1), doubt(2))
      .when(says('applied', epoch), NOW)
      .thenEmits()
      .thenSends({ data: { type: 'in_doubt', epoch: 2, next: 'person' } });
  });

  test('a statement about a resolved doubt is answered with the recorded outcome', () => {
    given(started(1)).when(says('applied'), NOW).thenNothing();
    given(started(1), doubt(2, 'repeat'))
      .when(says('applied'), NOW)
      .thenEmits()
      .thenSends({ data: { type: 'in_doubt', next: 'repeat' } });
  });

  test('a statement of a past outcome does not expire', () => {
    given(started(1), doubt(2))
      .when(says('applied', 2, { exp: NOW / 1_000 - 60 }), NOW)
      .thenEmitsLike({ type: 'answered' }, { type: 'applied' });
  });

  test('a statement is not a grant', () => {
    const { statement } = resolveFor('retry', 2, effect);
    given()
      .when({ kind: 'run', payload: { ...order, grant: statement }, slot }, NOW)
      .thenEmitsLike({ type: 'refused', error: { code: 'EXECUTOR_GRANT_INVALID' } })
      .thenStarts();
  });
});
