import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { expect, test } from 'vitest';
import { about, decider, EFFECT, GRANT_ENDS, NOW, orderFor, slot } from '../../testing/orders.ts';
import type { EffectMessage, Outcome } from './decide.ts';

const given = specFor(decider);
const order = orderFor();
const again = orderFor(undefined, { attempt: 2 });
const why = { target: 'https://a.example', reason: 'the circuit of https://a.example is open' } as const;
const hold = (attempt = 1): EffectMessage => ({ kind: 'deferred', attempt, ...why });
const claim: EffectMessage = { kind: 'claim', id: EFFECT, slot };
const offered: EffectMessage = { kind: 'timer', name: 'slot', data: null };
const ordered = (payload = order): EffectMessage => ({ kind: 'run', payload, slot: undefined });
const lost: Outcome = { kind: 'unknown', reason: 'connection reset' };

const prepared: EffectEvent = { type: 'prepared', ...about, order };
const held: EffectEvent = { type: 'deferred', ...about, ...why };
const started = (epoch: number): EffectEvent => ({
  type: 'started',
  ...about,
  order,
  epoch,
  worker: slot.worker,
});
const doubt = (epoch: number, next: 'repeat' | 'probe' | 'person'): EffectEvent => ({
  type: 'in_doubt',
  ...about,
  epoch,
  reason: 'connection reset',
  next,
});
const failed: EffectEvent = {
  type: 'failed_clean',
  ...about,
  epoch: 1,
  error: { code: 'EXECUTOR_TARGET_UNAVAILABLE', message: 'no' },
};

/** The answer to a repeated order. */
const answerTo = (message: EffectMessage, ...history: readonly EffectEvent[]): readonly unknown[] => {
  const state = history.reduce((before, event) => decider.evolve(before, event), decider.initial);
  const { events, send } = decider.decide(state, message, { now: NOW });
  expect(events.filter(({ type }) => type !== 'duplicate_prevented')).toEqual([]);
  return send.map(({ data }) => data);
};

test.each([
  ['an order that was admitted', [prepared]],
  ['a doubt before its repeat', [started(1), doubt(2, 'repeat')]],
  ['a doubt before its probe', [started(1), doubt(2, 'probe')]],
])('%s and waits for its target states that once, and keeps waiting', (_, history) => {
  given(...history)
    .when(hold(), NOW)
    .thenEmits(held)
    .thenTimes()
    .thenStarts();
  given(...history, held)
    .when(hold(), NOW)
    .thenNothing();
  given(...history, held)
    .when(offered, NOW)
    .thenEmits()
    .thenStarts({ kind: 'await_slot', order, deferred: true });
});

test.each([
  ['was never ordered', []],
  ['runs', [started(1)]],
  ['is finished', [started(1), failed]],
  ['waits for an operator', [started(1), doubt(2, 'person')]],
  ['waits under another attempt', [{ ...prepared, attempt: 2, order: again }]],
])('an effect that %s is not deferred', (_, history) => {
  given(...history)
    .when(hold(), NOW)
    .thenNothing();
});

test('a deferred effect begins with a slot, and is deferred again when it waits again', () => {
  given(prepared, held)
    .when(claim, NOW)
    .thenEmits({ type: 'undeferred', ...about }, started(1));
  given(prepared).when(claim, NOW).thenEmits(started(1));
  given(prepared, held, started(1), doubt(2, 'repeat')).when(hold(), NOW).thenEmits(held);
  given(prepared, held, started(1), failed, { ...prepared, attempt: 2, order: again })
    .when(hold(2), NOW)
    .thenEmits({ ...held, attempt: 2 });
});

test('a deferred effect waits no longer than its grant lasts', () => {
  given(prepared, held).when(claim, GRANT_ENDS).thenEmitsLike({ type: 'refused' });
});

test('a repeated order is answered with the deferral', () => {
  expect(answerTo(ordered(), prepared, held)).toEqual([held]);
  expect(answerTo(ordered(), prepared)).toEqual([]);
  expect(answerTo(ordered(), prepared, held, started(1))).toEqual([]);
  expect(answerTo(ordered(), started(1), doubt(2, 'repeat'), held)).toMatchObject([
    { type: 'in_doubt' },
    held,
  ]);
  given(started(1), doubt(2, 'repeat')).when({ kind: 'outcome', epoch: 1, outcome: lost }, NOW).thenNothing();
});
