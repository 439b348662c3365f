import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import { about, decider, EFFECT, NOW, orderFor, slot } from '../../testing/orders.ts';
import type { EffectMessage } from './decide.ts';

const given = specFor(decider);
const order = orderFor();
const cancel: EffectMessage = { kind: 'cancel', payload: { ...about, reason: 'task cancelled' } };
const run: EffectMessage = { kind: 'run', payload: order, slot };
const claim: EffectMessage = { kind: 'claim', id: EFFECT, slot };

const prepared: EffectEvent = { type: 'prepared', ...about, order };
const started: EffectEvent = { type: 'started', ...about, order, epoch: 1, worker: 'worker-1' };
const failed: EffectEvent = { type: 'failed_clean', ...about, epoch: 1, error: { code: 'X', message: 'no' } };
const refused: EffectEvent = { type: 'refused', ...about, order, error: { code: 'X', message: 'no' } };
const applied: EffectEvent = { type: 'applied', ...about, epoch: 1, outputs: {} };
const doubt = (next: 'repeat' | 'probe' | 'person'): EffectEvent => ({
  type: 'in_doubt',
  ...about,
  epoch: 2,
  reason: 'lost',
  next,
});
const calledOff: EffectEvent = { type: 'cancel_requested', ...about, reason: 'task cancelled' };
const cancelled: EffectEvent = { type: 'cancelled', ...about, reason: 'task cancelled' };

describe('a cancellation', () => {
  test('that comes before the order keeps it from ever starting', () => {
    given().when(cancel, NOW).thenEmits(cancelled);
    given(cancelled)
      .when(run, NOW + 1)
      .thenEmits()
      .thenStarts()
      .thenSends({ data: { type: 'cancelled', reason: 'task cancelled' } });
  });

  test('of what waits for a slot keeps it from starting', () => {
    given(prepared).when(cancel, NOW).thenEmits(cancelled).thenTimes({ clear: 'slot' });
    given(prepared, cancelled)
      .when(claim, NOW + 1)
      .thenNothing();
    given(prepared, cancelled)
      .when({ kind: 'timer', name: 'slot', data: null }, NOW + 1)
      .thenNothing();
  });

  test.each([
    ['failed cleanly', [started, failed]],
    ['was refused', [refused]],
  ])('of what %s keeps it from being tried again', (_, history) => {
    given(...history)
      .when(cancel, NOW)
      .thenEmits(cancelled);
    given(...history, cancelled)
      .when({ kind: 'run', payload: { ...order, attempt: 2 }, slot }, NOW + 1)
      .thenEmits()
      .thenSends({ data: { type: 'cancelled', attempt: 2 } });
  });

  test('of what runs tells it to stop; what comes of it is what its worker says', () => {
    given(started)
      .when(cancel, NOW)
      .thenEmits(calledOff)
      .thenTimes()
      .thenStarts({ kind: 'abort', id: EFFECT, epoch: 1 });
    given(started, calledOff)
      .when(cancel, NOW)
      .thenEmits()
      .thenStarts({ kind: 'abort', id: EFFECT, epoch: 1 });
  });

  test('of what runs keeps it from being started again, though its worker is never heard of again', () => {
    given(started, calledOff)
      .when({ kind: 'timer', name: 'lease', data: null }, NOW)
      .thenEmitsLike({ type: 'in_doubt', epoch: 2, next: 'person' })
      .thenStarts();
  });

  test('of what runs keeps it from being tried anew, though it failed cleanly', () => {
    const again: EffectMessage = { kind: 'run', payload: { ...order, attempt: 2 }, slot };
    given(started, calledOff, failed)
      .when(again, NOW)
      .thenEmitsLike({ type: 'cancelled', attempt: 2 })
      .thenStarts();
    given(started, calledOff, failed, { ...cancelled, attempt: 2 })
      .when(again, NOW + 1)
      .thenEmits()
      .thenStarts()
      .thenSends({ data: { type: 'cancelled', attempt: 2 } });
  });

  test.each(['repeat', 'person'] as const)(
    'of what is in doubt and waits for: %s, leaves a doubt of its own to a person: nothing more is started',
    (next) => {
      given(started, doubt(next))
        .when(cancel, NOW)
        .thenEmitsLike(calledOff, {
          type: 'in_doubt',
          epoch: 3,
          reason: 'cancelled in doubt: lost',
          next: 'person',
        })
        .thenTimes({ clear: 'lease' }, { clear: 'slot' })
        .thenStarts();
    },
  );

  test('of what its target is asked about is kept, and the target is asked all the same', () => {
    given(started, doubt('probe'))
      .when(cancel, NOW)
      .thenEmits(calledOff)
      .thenTimes()
      .thenSends({ data: { type: 'in_doubt', epoch: 2, next: 'probe' } })
      .thenStarts();
  });

  test.each([
    ['the target', [doubt('probe'), calledOff]],
    ['a person', [calledOff, doubt('person')]],
  ])('is kept though %s says that it did not happen: nothing is tried anew', (_, history) => {
    const notApplied: EffectEvent = { type: 'not_applied', ...about, epoch: 2, reason: 'no', by: 'person' };
    given(started, ...history, notApplied)
      .when({ kind: 'run', payload: { ...order, attempt: 2 }, slot }, NOW)
      .thenEmitsLike({ type: 'cancelled', attempt: 2 })
      .thenStarts();
  });

  test('of what is known not to have happened keeps it from being tried again', () => {
    const notApplied: EffectEvent = { type: 'not_applied', ...about, epoch: 2, reason: 'no', by: 'person' };
    given(started, doubt('person'), notApplied).when(cancel, NOW).thenEmits(cancelled);
  });

  test.each([
    ['is applied', [started, applied], { type: 'applied', epoch: 1, outputs: {} }],
    [
      'was called off and waits for a person',
      [started, calledOff, doubt('person')],
      { type: 'in_doubt', epoch: 2, next: 'person' },
    ],
    ['is cancelled', [prepared, cancelled], { type: 'cancelled', reason: 'task cancelled' }],
    ['is cancelled already', [cancelled], { type: 'cancelled', reason: 'task cancelled' }],
  ])('of what %s comes too late: it is answered with what is recorded', (_, history, data) => {
    const subject = `hp.evt.effect.${data.type}.${EFFECT}`;
    given(...history)
      .when(cancel, NOW)
      .thenEmits()
      .thenSends({ subject, data: { ...about, ...data } })
      .thenTimes()
      .thenStarts();
  });

  test('is answered under a new message id each time', () => {
    const ids = [NOW, NOW + 1].map(
      (now) => decider.decide(stateAfter(started, applied), cancel, { now }).send[0]?.id,
    );
    expect(new Set(ids).size).toBe(2);
  });
});

const stateAfter = (...history: readonly EffectEvent[]) =>
  history.reduce((state, event) => decider.evolve(state, event), decider.initial);
