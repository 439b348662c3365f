import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import { about, bareOrderFor, decider, EFFECT, NOW, orderFor, slot } from '../../testing/orders.ts';
import type { EffectMessage } from './decide.ts';
import { LEASE_MS } from './timing.ts';

const given = specFor(decider);
const order = bareOrderFor();
const cancel: EffectMessage = { kind: 'cancel', payload: { ...about, reason: 'not wanted' } };
const claim: EffectMessage = { kind: 'claim', id: EFFECT, slot };
const leaseOver: EffectMessage = { kind: 'timer', name: 'lease', data: null };
const interrupted = (epoch: number): EffectMessage => ({
  kind: 'outcome',
  epoch,
  outcome: { kind: 'unknown', reason: 'it was interrupted' },
});
const failing = (epoch: number): EffectMessage => ({
  kind: 'outcome',
  epoch,
  outcome: { kind: 'failed_clean', error: { code: 'X', message: 'no' } },
});

const started = (epoch = 1): EffectEvent => ({ type: 'started', ...about, order, epoch, worker: 'worker-1' });
const doubt = (epoch: number, next: 'repeat' | 'person' = 'repeat'): EffectEvent => ({
  type: 'in_doubt',
  ...about,
  epoch,
  reason: 'it was interrupted',
  next,
});
const calledOff: EffectEvent = { type: 'cancel_requested', ...about, reason: 'not wanted' };
/** So many starts, each interrupted, and one more under way. */
const startsBefore = (count: number): readonly EffectEvent[] =>
  Array.from({ length: count }, (_, i) => [started(2 * i + 1), doubt(2 * i + 2)])
    .flat()
    .concat(started(2 * count + 1));

test('work starts without a grant', () => {
  given().when({ kind: 'run', payload: order, slot }, NOW).thenEmits(started());
});

describe('interrupted work', () => {
  test('interrupted work is repeated after a while', () => {
    given(started())
      .when(interrupted(1), NOW)
      .thenEmitsLike({ type: 'in_doubt', epoch: 2, next: 'repeat' })
      .thenTimes({ clear: 'lease' }, { set: 'slot', dueAt: NOW + 1_000 });
    given(started(), doubt(2)).when(claim, NOW).thenEmits(started(3));
  });

  test('work goes to an operator after twenty starts', () => {
    given(...startsBefore(18))
      .when(interrupted(37), NOW)
      .thenEmitsLike({ type: 'in_doubt', next: 'repeat' });
    given(...startsBefore(19))
      .when(interrupted(39), NOW)
      .thenEmitsLike({ type: 'in_doubt', next: 'person' });
  });

  test('a repeat that fails cleanly is a failure', () => {
    given(started(), doubt(2), started(3))
      .when(failing(3), NOW)
      .thenEmitsLike({ type: 'failed_clean', epoch: 3 });
  });
});

describe('cancelled work', () => {
  test.each([
    ['after its interruption', interrupted(1)],
    ['after a clean failure', failing(1)],
    ['after its worker is lost', leaseOver],
  ])('work that is cancelled while it runs is over %s, and no operator is asked', (_, message) => {
    given(started(), calledOff)
      .when(message, NOW)
      .thenEmitsLike({ type: 'cancelled' })
      .thenTimes({ clear: 'lease' }, { clear: 'slot' })
      .thenStarts();
  });

  test('work that is cancelled while it runs may still be applied', () => {
    given(started(), calledOff)
      .when({ kind: 'outcome', epoch: 1, outcome: { kind: 'applied', outputs: {} } }, NOW)
      .thenEmitsLike({ type: 'applied' });
  });

  test.each(['repeat', 'person'] as const)(
    'work that waits for a %s is over at once when it is cancelled',
    (next) => {
      given(started(), doubt(2, next))
        .when(cancel, NOW)
        .thenEmits({ type: 'cancelled', ...about, reason: 'not wanted' });
    },
  );

  test('cancelled work stays cancelled although a journal has its start', () => {
    const journalled: EffectMessage = { kind: 'journalled', order, epoch: 5 };
    const over: EffectEvent = { type: 'cancelled', ...about, reason: 'not wanted' };
    given(over).when(journalled, NOW).thenNothing();
    given(started(), calledOff).when(journalled, NOW).thenEmitsLike({ type: 'cancelled' });
  });
});

describe('heartbeats', () => {
  const beat = (epoch: number): EffectMessage => ({ kind: 'heartbeat', epoch });
  const abort = (epoch: number) => ({ kind: 'abort', id: EFFECT, epoch }) as const;

  test('a heartbeat of a cancelled effect is answered with an abort', () => {
    given(started(), calledOff)
      .when(beat(1), NOW)
      .thenEmits()
      .thenTimes({ set: 'lease', dueAt: NOW + LEASE_MS })
      .thenStarts(abort(1));
    const effect: EffectEvent = {
      type: 'started',
      ...about,
      order: orderFor(),
      epoch: 1,
      worker: 'worker-1',
    };
    given(effect, calledOff).when(beat(1), NOW).thenStarts(abort(1));
  });

  test.each([
    ['waits for its repeat', [started(), doubt(2)]],
    ['runs elsewhere', [started(), doubt(2), started(3)]],
    ['is finished', [started(), calledOff, { type: 'cancelled', ...about, reason: 'not wanted' } as const]],
  ])('a heartbeat of work with an expired lease that %s is answered with an abort', (_, history) => {
    given(...history)
      .when(beat(1), NOW)
      .thenEmits()
      .thenTimes()
      .thenStarts(abort(1));
  });

  test('a heartbeat of an effect with an expired lease aborts nothing', () => {
    const effect: EffectEvent = {
      type: 'started',
      ...about,
      order: orderFor(),
      epoch: 1,
      worker: 'worker-1',
    };
    given(effect, doubt(2)).when(beat(1), NOW).thenNothing();
  });

  test('a heartbeat of a start that the ledger has lost aborts nothing', () => {
    expect(decider.decide(decider.initial, beat(1), { now: NOW }).work).toEqual([]);
    given(started()).when(beat(3), NOW).thenNothing();
  });
});
