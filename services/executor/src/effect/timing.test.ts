import { expect, test } from 'vitest';
import { createEffectDecider } from './decide.ts';
import { DEFAULT_TIMING, effectTiming } from './timing.ts';
import { about, NOW, orderFor, slot, verify } from '../../testing/orders.ts';

const order = orderFor();

test('the default lease lasts ten seconds, and the other durations derive from it', () => {
  expect(DEFAULT_TIMING).toEqual({
    leaseMs: 10_000,
    heartbeatMs: 10_000 / 3,
    beginBeforeMs: 2_500,
    inForceMs: 7_500,
    reofferMs: 5_000,
    reofferRemoteMs: 30_000,
    reprobeMs: 120_000,
    firstRepeatMs: 1_000,
    lastRepeatMs: 8_000,
  });
});

test('a start sets its lease timer by the timing of the decider', () => {
  const decider = createEffectDecider({ verify, timing: effectTiming(1_000) });
  const message = { kind: 'run', payload: order, slot } as const;
  const { timers } = decider.decide(decider.initial, message, { now: NOW });
  expect(timers).toEqual([{ set: 'lease', dueAt: NOW + 1_000 }]);
});

test('a doubt without a slot is offered again after half a lease', () => {
  const decider = createEffectDecider({ verify, timing: effectTiming(1_000) });
  const doubt = { type: 'in_doubt', ...about, epoch: 2, reason: 'lost', next: 'repeat' } as const;
  const started = { type: 'started', ...about, order, epoch: 1, worker: 'worker-1' } as const;
  const state = [started, doubt].reduce((before, event) => decider.evolve(before, event), decider.initial);
  const { timers } = decider.decide(state, { kind: 'timer', name: 'slot', data: null }, { now: NOW });
  expect(timers).toEqual([{ set: 'slot', dueAt: NOW + 500 }]);
});

test('a lost worker is reported with the length of the lease', () => {
  const decider = createEffectDecider({ verify, timing: effectTiming(1_000) });
  const started = { type: 'started', ...about, order, epoch: 1, worker: 'worker-1' } as const;
  const state = decider.evolve(decider.initial, started);
  const { events } = decider.decide(state, { kind: 'timer', name: 'lease', data: null }, { now: NOW });
  expect(events).toMatchObject([
    { type: 'in_doubt', reason: 'worker worker-1 sent no heartbeat for 1000 ms' },
  ]);
});
