import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
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
} from '../../testing/orders.ts';
import type { EffectMessage, Slot } from './decide.ts';
import { LEASE_MS } from './timing.ts';

const given = specFor(decider);
const order = orderFor();
const run = (payload: RunEffect = order, at: Slot | undefined = slot): EffectMessage => ({
  kind: 'run',
  payload,
  slot: at,
});
const waiting = (payload: RunEffect = order): EffectMessage => ({ kind: 'run', payload, slot: undefined });
const claim: EffectMessage = { kind: 'claim', id: EFFECT, slot };

const prepared: EffectEvent = { type: 'prepared', ...about, order };
const started: EffectEvent = { type: 'started', ...about, order, epoch: 1, worker: slot.worker };
const applied: EffectEvent = { type: 'applied', ...about, epoch: 1, outputs: { line: 1 } };
const failed: EffectEvent = {
  type: 'failed_clean',
  ...about,
  epoch: 1,
  error: { code: 'EXECUTOR_TARGET_UNAVAILABLE', message: 'no' },
};
const doubted: EffectEvent = { type: 'in_doubt', ...about, epoch: 2, reason: 'lost', next: 'person' };
const notApplied: EffectEvent = {
  type: 'not_applied',
  ...about,
  epoch: 2,
  reason: 'reported by ada',
  by: 'person',
};
const cancelled: EffectEvent = { type: 'cancelled', ...about, reason: 'over' };
const refused: EffectEvent = {
  type: 'refused',
  ...about,
  order,
  error: { code: 'EXECUTOR_GRANT_EXPIRED', message: 'late' },
};

describe('an order', () => {
  test('an order with a slot starts at once, under a lease', () => {
    given()
      .when(run(), NOW)
      .thenEmits(started)
      .thenTimes({ set: 'lease', dueAt: NOW + LEASE_MS })
      .thenStarts({ kind: 'start', order, epoch: 1, slot: slot.slot });
  });

  test('an order without a slot is kept', () => {
    given().when(waiting(), NOW).thenEmits(prepared).thenTimes().thenStarts({ kind: 'await_slot', order });
  });

  test('a waiting order starts when it gets a slot', () => {
    given(prepared)
      .when(claim, NOW + 1)
      .thenEmits(started)
      .thenTimes({ set: 'lease', dueAt: NOW + 1 + LEASE_MS }, { clear: 'slot' })
      .thenStarts({ kind: 'start', order, epoch: 1, slot: slot.slot });
  });

  test('an order that waits longer than its grant lasts is refused', () => {
    given(prepared)
      .when(claim, GRANT_ENDS)
      .thenEmitsLike({ type: 'refused', ...about, error: { code: 'EXECUTOR_GRANT_EXPIRED' } })
      .thenTimes({ clear: 'slot' })
      .thenStarts();
  });

  test('an executor that finds a waiting order queues it, and writes nothing', () => {
    given(prepared)
      .when({ kind: 'timer', name: 'slot', data: null }, NOW + 5_000)
      .thenEmits()
      .thenTimes()
      .thenStarts({ kind: 'await_slot', order });
  });

  test.each([
    ['a forged grant', orderFor(effectOf(), { grant: forgedGrantFor(effectOf()) }), 'EXECUTOR_GRANT_INVALID'],
    [
      'a grant for other arguments',
      orderFor(effectOf({ args: { line: 'x' } }), { grant: order.grant }),
      'EXECUTOR_DIGEST_MISMATCH',
    ],
    ['an unknown capability', orderFor(effectOf({ uses: 'cap.rm' })), 'EXECUTOR_UNKNOWN_CAPABILITY'],
    ['another class', orderFor(effectOf({ effectClass: 'idempotent' })), 'EXECUTOR_CLASS_MISMATCH'],
  ])('an order with %s is refused and recorded, and starts nothing', (_, bad, code) => {
    given()
      .when(run(bad), NOW)
      .thenEmitsLike({ type: 'refused', ...about, error: { code } })
      .thenStarts();
    given()
      .when(waiting(bad), NOW)
      .thenEmitsLike({ type: 'refused', ...about, error: { code } })
      .thenStarts();
  });
});

describe('a repeated order', () => {
  test.each([
    ['waits', [prepared]],
    ['runs', [prepared, started]],
  ])('a repeated order changes nothing while it %s', (_, history) => {
    given(...history)
      .when(run(), NOW + 1)
      .thenNothing();
    given(...history)
      .when(waiting(), NOW + 1)
      .thenNothing();
    given(...history)
      .when(run(orderFor(effectOf(), { attempt: 2 })), NOW + 1)
      .thenNothing();
  });

  test.each([
    [[started, applied], applied, ['applied']],
    [[started, failed], failed, []],
    [[started, doubted], doubted, ['in_doubt']],
    [[started, doubted, notApplied], notApplied, ['not_applied']],
    [[prepared, cancelled], cancelled, []],
    [[refused], refused, []],
  ] as const)('a repeated order is answered with the recorded outcome (%#)', (history, fact, prevented) => {
    given(...history)
      .when(run(), NOW + 1)
      .thenEmits(
        ...prevented.map(
          (standing) => ({ type: 'duplicate_prevented', ...about, outcome: standing }) as const,
        ),
      )
      .thenStarts()
      .thenTimes()
      .thenSends({
        subject: `hp.evt.effect.${fact.type}.${EFFECT}`,
        type: `dev.holdpoint.effect.${fact.type}.v1`,
        data: fact,
      });
  });

  test.each([
    [[started, applied], 'applied', ['applied']],
    [[started, doubted], 'in_doubt', ['in_doubt']],
    [[prepared, cancelled], 'cancelled', []],
  ] as const)(
    'a later attempt is answered with the recorded outcome, and not repeated (%#)',
    (history, type, prevented) => {
      given(...history)
        .when(run(orderFor(effectOf(), { attempt: 2 })), NOW + 1)
        .thenEmitsLike(
          ...prevented.map((standing) => ({ type: 'duplicate_prevented', attempt: 2, outcome: standing })),
        )
        .thenStarts()
        .thenSends({ data: { type, attempt: 2 } });
    },
  );
});

describe('an order after a clean end', () => {
  test('the next attempt starts after a clean failure', () => {
    const second = orderFor(effectOf(), { attempt: 2 });
    given(started, failed)
      .when(run(second), NOW + 1)
      .thenEmits({ ...started, attempt: 2, order: second, epoch: 2 })
      .thenStarts({ kind: 'start', order: second, epoch: 2, slot: slot.slot });
  });

  test('a new grant starts after an expired one', () => {
    const again = orderFor(effectOf(), { grant: grantFor(effectOf(), { exp: GRANT_ENDS / 1_000 + 60 }) });
    given(refused)
      .when(run(again), NOW + 1)
      .thenEmits({ ...started, order: again });
  });

  test.each([
    ['other arguments', orderFor(effectOf({ args: { line: 'x' } }), { grant: order.grant })],
    [
      'other arguments under the digest of the approved',
      { ...order, effect: effectOf({ args: { line: 'x' } }) },
    ],
    ['a later attempt', orderFor(effectOf(), { attempt: 9, grant: forgedGrantFor(effectOf()) })],
  ])('the approved effect starts after a refused forgery with %s', (_, forged) => {
    given({ ...refused, order: forged })
      .when(run(), NOW + 1)
      .thenEmits(started);
  });

  test('a later attempt without a slot waits', () => {
    const second = orderFor(effectOf(), { attempt: 2 });
    given(started, failed)
      .when(waiting(second), NOW + 1)
      .thenEmits({ ...prepared, attempt: 2, order: second });
  });

  test('a later attempt needs a valid grant', () => {
    given(started, failed)
      .when(run(orderFor(effectOf(), { attempt: 2 })), GRANT_ENDS)
      .thenEmitsLike({ type: 'refused', attempt: 2, error: { code: 'EXECUTOR_GRANT_EXPIRED' } });
  });
});

describe('another effect under the same key', () => {
  const conflicting = orderFor(effectOf({ args: { file: 'sample.txt', line: 'other' } }), { attempt: 2 });

  test.each([
    ['waits', [prepared]],
    ['runs', [started]],
    ['is applied', [started, applied]],
    ['has failed', [started, failed]],
    ['is in doubt', [started, doubted]],
    ['is cancelled', [prepared, cancelled]],
  ])('another effect is refused while the first %s', (_, history) => {
    given(...history)
      .when(run(conflicting), NOW + 1)
      .thenEmits()
      .thenStarts()
      .thenTimes()
      .thenSends({ data: { type: 'refused', attempt: 2, error: { code: 'ERR_IDEMPOTENCY_CONFLICT' } } });
  });
});
