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

describe('a person who was asked what became of an effect', () => {
  test('says that it happened, and that is recorded, in the form in which a stage says it too', () => {
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

  test('says that it did not happen, and a later attempt may begin', () => {
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

  test('says that it is to be done again, and it is, as soon as there is a slot', () => {
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

  test('is heard by the attempt that asks, though an earlier one began the effect, and no order of it begins anything', () => {
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

  test('says so once: the same statement again is answered with what is recorded', () => {
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

describe('that it is to be done again', () => {
  const again = answered('retry', 2, GRANT_ENDS + 60_000);

  test('counts though its grant is over, until the statement is over as well', () => {
    given(started(1), doubt(2), again).when(claim, GRANT_ENDS).thenEmits(started(3));
    given(started(1), doubt(2), again)
      .when(claim, GRANT_ENDS + 60_000)
      .thenEmitsLike({ type: 'in_doubt', epoch: 3, next: 'person' })
      .thenStarts();
  });

  test('is over with the statement, though the grant lasts', () => {
    given(started(1), doubt(2), answered('retry', 2, NOW))
      .when(claim, NOW)
      .thenEmits(doubt(3))
      .thenTimes({ clear: 'lease' }, { clear: 'slot' })
      .thenStarts();
  });

  test('counts for one start: in doubt again, a person is asked again', () => {
    given(started(1), doubt(2), again, started(3))
      .when({ kind: 'outcome', epoch: 3, outcome: { kind: 'unknown', reason: 'reset' } }, NOW)
      .thenEmitsLike({ type: 'in_doubt', epoch: 4, next: 'person' });
    given(started(1), doubt(2), again, started(3), doubt(4, 'repeat'))
      .when(claim, GRANT_ENDS)
      .thenEmitsLike({ type: 'in_doubt', epoch: 5, next: 'person' })
      .thenStarts();
  });

  test('says nothing of what the starts before it did: a clean failure leaves the doubt', () => {
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

  test('is over when a journal has a start that the ledger has lost', () => {
    given(started(1), doubt(2), again)
      .when({ kind: 'journalled', order, epoch: 5 }, NOW)
      .thenEmitsLike({ type: 'in_doubt', epoch: 6, next: 'person' });
  });

  test('takes back that it was called off, when that was known to whoever said so', () => {
    given(started(1), calledOff, doubt(2), answered('retry', 2, GRANT_ENDS))
      .when(claim, NOW)
      .thenEmits(started(3));
    given(started(1), calledOff, doubt(2), answered('retry', 2, GRANT_ENDS), started(3))
      .when({ kind: 'heartbeat', epoch: 3 }, NOW)
      .thenStarts();
  });

  test('does not outlive a cancellation: what was said before it is on a doubt that is over', () => {
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

describe('a statement', () => {
  test.each([
    ['signed by somebody else', forgedGrantFor(effect)],
    ['that is a grant', grantFor(effect)],
    ['that is none', 'x'],
  ])('%s is refused', (_, statement) => {
    given(started(1), doubt(2))
      .when({ kind: 'resolve', payload: { ...about, statement } }, NOW)
      .thenRefuses('EXECUTOR_STATEMENT_INVALID');
  });

  test('on another effect is refused', () => {
    const elsewhere = resolveFor('applied', 2, effectOf({ idempotencyKey: 'another' }));
    given(started(1), doubt(2))
      .when({ kind: 'resolve', payload: { ...elsewhere, id: EFFECT } }, NOW)
      .thenRefuses('EXECUTOR_STATEMENT_INVALID');
  });

  test('on what was ordered under the same key with other arguments is refused', () => {
    given(started(1), doubt(2))
      .when({ kind: 'resolve', payload: resolveFor('applied', 2, effectOf()) }, NOW)
      .thenRefuses('EXECUTOR_STATEMENT_INVALID');
  });

  test('on an effect that nobody ordered is refused', () => {
    given().when(says('applied'), NOW).thenRefuses('EXECUTOR_UNKNOWN_EFFECT');
    given({ type: 'cancelled', ...about, reason: 'over' })
      .when(says('applied'), NOW)
      .thenRefuses('EXECUTOR_UNKNOWN_EFFECT');
  });

  test.each([1, 3])('on the doubt %i is not one on the doubt 2', (epoch) => {
    given(started(1), doubt(2))
      .when(says('applied', epoch), NOW)
      .thenEmits()
      .thenSends({ data: { type: 'in_doubt', epoch: 2, next: 'person' } });
  });

  test('on what is in doubt no longer, or waits for nobody, is answered with what is recorded', () => {
    given(started(1)).when(says('applied'), NOW).thenNothing();
    given(started(1), doubt(2, 'repeat'))
      .when(says('applied'), NOW)
      .thenEmits()
      .thenSends({ data: { type: 'in_doubt', next: 'repeat' } });
  });

  test('that says what has happened does not end', () => {
    given(started(1), doubt(2))
      .when(says('applied', 2, { exp: NOW / 1_000 - 60 }), NOW)
      .thenEmitsLike({ type: 'answered' }, { type: 'applied' });
  });

  test('is no grant: an order that brings one is refused', () => {
    const { statement } = resolveFor('retry', 2, effect);
    given()
      .when({ kind: 'run', payload: { ...order, grant: statement }, slot }, NOW)
      .thenEmitsLike({ type: 'refused', error: { code: 'EXECUTOR_GRANT_INVALID' } })
      .thenStarts();
  });
});
