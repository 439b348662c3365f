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

describe('work that was interrupted', () => {
  test('is done again, after a while', () => {
    given(started())
      .when(interrupted(1), NOW)
      .thenEmitsLike({ type: 'in_doubt', epoch: 2, next: 'repeat' })
      .thenTimes({ clear: 'lease' }, { set: 'slot', dueAt: NOW + 1_000 });
    given(started(), doubt(2)).when(claim, NOW).thenEmits(started(3));
  });

  test('is left to a person after twenty starts, because something is wrong with it', () => {
    given(...startsBefore(18))
      .when(interrupted(37), NOW)
      .thenEmitsLike({ type: 'in_doubt', next: 'repeat' });
    given(...startsBefore(19))
      .when(interrupted(39), NOW)
      .thenEmitsLike({ type: 'in_doubt', next: 'person' });
  });

  test('and fails the next time has failed: what it did before does no harm', () => {
    given(started(), doubt(2), started(3))
      .when(failing(3), NOW)
      .thenEmitsLike({ type: 'failed_clean', epoch: 3 });
  });
});

describe('work that is called off', () => {
  test.each([
    ['is over when it has been interrupted', interrupted(1)],
    ['is over when it failed', failing(1)],
    ['is over when nobody hears of it any more', leaseOver],
  ])('while it runs %s, and nobody is asked', (_, message) => {
    given(started(), calledOff)
      .when(message, NOW)
      .thenEmitsLike({ type: 'cancelled' })
      .thenTimes({ clear: 'lease' }, { clear: 'slot' })
      .thenStarts();
  });

  test('while it runs may have been done all the same', () => {
    given(started(), calledOff)
      .when({ kind: 'outcome', epoch: 1, outcome: { kind: 'applied', outputs: {} } }, NOW)
      .thenEmitsLike({ type: 'applied' });
  });

  test.each(['repeat', 'person'] as const)('while it waits for a %s is over at once', (next) => {
    given(started(), doubt(2, next))
      .when(cancel, NOW)
      .thenEmits({ type: 'cancelled', ...about, reason: 'not wanted' });
  });

  test('stays over, though a journal says that it was started', () => {
    const journalled: EffectMessage = { kind: 'journalled', order, epoch: 5 };
    const over: EffectEvent = { type: 'cancelled', ...about, reason: 'not wanted' };
    given(over).when(journalled, NOW).thenNothing();
    given(started(), calledOff).when(journalled, NOW).thenEmitsLike({ type: 'cancelled' });
  });
});

describe('a heartbeat', () => {
  const beat = (epoch: number): EffectMessage => ({ kind: 'heartbeat', epoch });
  const abort = (epoch: number) => ({ kind: 'abort', id: EFFECT, epoch }) as const;

  test('of what was called off is answered by ending it, wherever it runs', () => {
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
    ['waits to be done again', [started(), doubt(2)]],
    ['is done elsewhere', [started(), doubt(2), started(3)]],
    ['is over', [started(), calledOff, { type: 'cancelled', ...about, reason: 'not wanted' } as const]],
  ])('of work of which the lease was over, and that %s, ends it', (_, history) => {
    given(...history)
      .when(beat(1), NOW)
      .thenEmits()
      .thenTimes()
      .thenStarts(abort(1));
  });

  test('of an effect of which the lease was over ends nothing: what comes of it is worth knowing', () => {
    const effect: EffectEvent = {
      type: 'started',
      ...about,
      order: orderFor(),
      epoch: 1,
      worker: 'worker-1',
    };
    given(effect, doubt(2)).when(beat(1), NOW).thenNothing();
  });

  test('of a start that the ledger has lost ends nothing', () => {
    expect(decider.decide(decider.initial, beat(1), { now: NOW }).work).toEqual([]);
    given(started()).when(beat(3), NOW).thenNothing();
  });
});
