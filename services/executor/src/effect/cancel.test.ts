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

describe('cancellation', () => {
  test('a cancellation before the order prevents every start', () => {
    given().when(cancel, NOW).thenEmits(cancelled);
    given(cancelled)
      .when(run, NOW + 1)
      .thenEmits()
      .thenStarts()
      .thenSends({ data: { type: 'cancelled', reason: 'task cancelled' } });
  });

  test('a cancellation of a waiting effect prevents its start', () => {
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
  ])('a cancellation of an effect that %s prevents another try', (_, history) => {
    given(...history)
      .when(cancel, NOW)
      .thenEmits(cancelled);
    given(...history, cancelled)
      .when({ kind: 'run', payload: { ...order, attempt: 2 }, slot }, NOW + 1)
      .thenEmits()
      .thenSends({ data: { type: 'cancelled', attempt: 2 } });
  });

  test('a cancellation of a running effect aborts it, and its worker reports the outcome', () => {
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

  test('a cancellation of a running effect prevents a repeat after the worker is lost', () => {
    given(started, calledOff)
      .when({ kind: 'timer', name: 'lease', data: null }, NOW)
      .thenEmitsLike({ type: 'in_doubt', epoch: 2, next: 'person' })
      .thenStarts();
  });

  test('a cancellation of a running effect prevents a repeat after a clean failure', () => {
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
    'a cancellation of a doubt that waits for: %s leaves a new doubt to an operator',
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

  test('a cancelled effect that is being probed is still probed', () => {
    given(started, doubt('probe'))
      .when(cancel, NOW)
      .thenEmits(calledOff)
      .thenTimes()
      .thenSends({ data: { type: 'in_doubt', epoch: 2, next: 'probe' } })
      .thenStarts();
  });

  test.each([
    ['the target', [doubt('probe'), calledOff]],
    ['an operator', [calledOff, doubt('person')]],
  ])('a cancellation stays in force although %s reports that it did not happen', (_, history) => {
    const notApplied: EffectEvent = { type: 'not_applied', ...about, epoch: 2, reason: 'no', by: 'person' };
    given(started, ...history, notApplied)
      .when({ kind: 'run', payload: { ...order, attempt: 2 }, slot }, NOW)
      .thenEmitsLike({ type: 'cancelled', attempt: 2 })
      .thenStarts();
  });

  test('a cancellation of a not-applied effect prevents another try', () => {
    const notApplied: EffectEvent = { type: 'not_applied', ...about, epoch: 2, reason: 'no', by: 'person' };
    given(started, doubt('person'), notApplied).when(cancel, NOW).thenEmits(cancelled);
  });

  test.each([
    ['is applied', [started, applied], { type: 'applied', epoch: 1, outputs: {} }],
    [
      'was cancelled and waits for an operator',
      [started, calledOff, doubt('person')],
      { type: 'in_doubt', epoch: 2, next: 'person' },
    ],
    ['is cancelled', [prepared, cancelled], { type: 'cancelled', reason: 'task cancelled' }],
    ['is already cancelled', [cancelled], { type: 'cancelled', reason: 'task cancelled' }],
  ])(
    'a cancellation of an effect that %s is too late, and is answered with the outcome',
    (_, history, data) => {
      const subject = `hp.evt.effect.${data.type}.${EFFECT}`;
      given(...history)
        .when(cancel, NOW)
        .thenEmits()
        .thenSends({ subject, data: { ...about, ...data } })
        .thenTimes()
        .thenStarts();
    },
  );

  test('a cancellation is answered under a new message id each time', () => {
    const ids = [NOW, NOW + 1].map(
      (now) => decider.decide(stateAfter(started, applied), cancel, { now }).send[0]?.id,
    );
    expect(new Set(ids).size).toBe(2);
  });
});

const stateAfter = (...history: readonly EffectEvent[]) =>
  history.reduce((state, event) => decider.evolve(state, event), decider.initial);
