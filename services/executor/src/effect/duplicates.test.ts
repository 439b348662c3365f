import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, test } from 'vitest';
import { about, bareOrderFor, decider, effectOf, NOW, orderFor, slot } from '../../testing/orders.ts';
import type { EffectMessage } from './decide.ts';

const given = specFor(decider);
const order = orderFor();
const run = (payload: RunEffect = order): EffectMessage => ({ kind: 'run', payload, slot });
const attempt = (number: number): EffectMessage => run({ ...order, attempt: number });

const started: EffectEvent = { type: 'started', ...about, order, epoch: 1, worker: 'worker-1' };
const applied: EffectEvent = { type: 'applied', ...about, epoch: 1, outputs: { line: 1 } };
const prevented = (number: number): EffectEvent => ({
  type: 'duplicate_prevented',
  ...about,
  attempt: number,
  outcome: 'applied',
});

describe('an order of a finished effect', () => {
  test('a duplicate order is answered with the outcome, and recorded', () => {
    given(started, applied)
      .when(attempt(2), NOW)
      .thenEmits(prevented(2))
      .thenSends({ data: { type: 'applied', attempt: 2, outputs: { line: 1 } } })
      .thenTimes()
      .thenStarts();
  });

  test('a duplicate is recorded once for each attempt, and answered every time', () => {
    given(started, applied, prevented(1), prevented(2))
      .when(attempt(2), NOW)
      .thenEmits()
      .thenSends({ data: { type: 'applied', attempt: 2 } });
    given(started, applied, prevented(1)).when(attempt(2), NOW).thenEmits(prevented(2));
  });

  test('at most a hundred duplicates are recorded', () => {
    const hundred = Array.from({ length: 100 }, (_, i) => prevented(i + 1));
    given(started, applied, ...hundred.slice(1))
      .when(attempt(101), NOW)
      .thenEmits(prevented(101));
    given(started, applied, ...hundred)
      .when(attempt(101), NOW)
      .thenEmits()
      .thenSends({ data: { type: 'applied', attempt: 101 } });
  });

  test('a duplicate order keeps the outcome', () => {
    given(started, applied, prevented(2))
      .when({ kind: 'cancel', payload: { ...about, reason: 'over' } }, NOW)
      .thenSends({ data: { type: 'applied', epoch: 1, outputs: { line: 1 } } });
  });
});

describe('orders that are no duplicates', () => {
  const failed: EffectEvent = {
    type: 'failed_clean',
    ...about,
    epoch: 1,
    error: { code: 'X', message: 'no' },
  };
  const cancelled: EffectEvent = { type: 'cancelled', ...about, reason: 'over' };

  test.each([
    ['waits', [{ type: 'prepared', ...about, order }]],
    ['runs', [started]],
    ['failed cleanly', [started, failed]],
    ['was cancelled before it began', [started, failed, cancelled]],
    ['was cancelled before it was ordered', [cancelled]],
  ] as const)('the same order of an effect that %s is no duplicate', (_, history) => {
    given(...history)
      .when(run(), NOW)
      .thenEmits()
      .thenStarts();
  });

  test('repeated work is no duplicate', () => {
    const work = bareOrderFor();
    given({ ...started, order: work }, applied)
      .when(run({ ...work, attempt: 2 }), NOW)
      .thenEmits()
      .thenSends({ data: { type: 'applied', attempt: 2 } });
  });

  test('another effect under the same key is no duplicate', () => {
    given(started, applied)
      .when(run(orderFor(effectOf({ args: { line: 'x' } }), { attempt: 2 })), NOW)
      .thenEmits()
      .thenSends({ data: { type: 'refused', error: { code: 'ERR_IDEMPOTENCY_CONFLICT' } } });
  });
});
