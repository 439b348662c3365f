import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { expect, test } from 'vitest';
import { about, decider, orderFor, slot } from '../../../testing/orders.ts';
import { createWhyWaiting, waitingForJournals } from './why-waiting.ts';

const order = orderFor();
const prepared: EffectEvent = { type: 'prepared', ...about, order };
const started: EffectEvent = { type: 'started', ...about, order, epoch: 1, worker: slot.worker };
const after = (...events: readonly EffectEvent[]) =>
  events.reduce((state, event) => decider.evolve(state, event), decider.initial);

const why = (names: readonly string[], circuit?: string) =>
  waitingForJournals(
    createWhyWaiting(() => 'https://a.example', { states: () => [], whyWaiting: () => circuit }),
    () => names,
  );

test.each([
  [['one'], 'waits for the journal of one'],
  [['one', 'two', 'three'], 'waits for the journal of one, two, three'],
  [['one', 'two', 'three', 'four'], 'waits for the journal of one, two, three and others'],
])('a waiting effect names the executors whose journals it waits for: %j', (names, reason) => {
  const { any, of } = why(names, 'the circuit is open');
  expect([any(), of(after(prepared))]).toEqual([true, reason]);
});

test('a started effect waits for no journal', () => {
  expect(why(['one']).of(after(prepared, started))).toBeUndefined();
});

test('without awaited journals the circuit is the reason', () => {
  const { any, of } = why([], 'the circuit is open');
  expect([any(), of(after(prepared))]).toEqual([false, 'the circuit is open']);
});
