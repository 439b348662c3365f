import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import type { Routed } from '@holdpoint/runtime/engine/inbound';
import { systemClock } from '@holdpoint/runtime/service/system-clock';
import { expect, test } from 'vitest';
import { about, decider, EFFECT, NOW, orderFor } from '../testing/orders.ts';
import { createRunner, type ToEffect } from './adapters/runner/runner.ts';
import { createSlots } from './adapters/slots/slots.ts';
import { executorBindings } from './bindings.ts';
import type { EffectMessage } from './effect/decide.ts';
import type { EffectState } from './effect/state.ts';

const at = { now: NOW };
const absent = { status: 'absent' } as const;
const prepared = decider.evolve(absent, { type: 'prepared', ...about, order: orderFor() });

const bindingsWith = (mayLearnKeyOf?: (token: string) => boolean) => {
  const slots = createSlots({ worker: 'worker-1' }, 2);
  const runner = createRunner({
    capabilities: new Map(),
    slots,
    clock: systemClock,
    journalStart: () => Promise.resolve(),
    log: silentLogger(),
  });
  const { inbound, perform } = executorBindings({
    slots,
    runner,
    pools: [DEFAULT_POOL],
    ...(mayLearnKeyOf && { mayLearnKeyOf }),
  });
  const order = () => inbound[0]?.decode('hp.cmd.effect.run.default', orderFor(), { identity: 'm-1' });
  /** The claim of an order that waits for a slot. */
  const claim = (): Routed<ToEffect> => {
    const claims: Routed<ToEffect>[] = [];
    perform?.({ kind: 'await_slot', order: orderFor() }, (routed) => void claims.push(routed));
    const [first] = claims;
    if (first === undefined) throw new Error('there are slots');
    return first;
  };
  return { slots, order, claim };
};
/** Decides a message as the engine does: as it is at that moment. */
const decide = (state: EffectState, routed: Routed<ToEffect> | undefined) => {
  if (routed === undefined) throw new Error('not decoded');
  const message: EffectMessage = routed.refresh?.() ?? routed.message;
  return decider.decide(state, message, at);
};

test('an order with a slot is kept, not started, once effects may not start', () => {
  const { slots, order } = bindingsWith();
  const run = order();
  expect(decide(absent, run).events).toMatchObject([{ type: 'started' }]);
  slots.close();
  const made = decide(absent, run);
  expect(made.events).toMatchObject([{ type: 'prepared' }]);
  expect(made.work).toEqual([{ kind: 'await_slot', order: orderFor() }]);
});

test('a claim starts nothing once effects may not start, and the order waits for a slot again', () => {
  const { slots, claim } = bindingsWith();
  const claimed = claim();
  expect(claimed).toMatchObject({ kind: 'effect', aggregate: EFFECT, message: { kind: 'claim' } });
  expect(decide(prepared, claimed).events).toMatchObject([{ type: 'started' }]);
  slots.close();
  const made = decide(prepared, claimed);
  expect(made.events).toEqual([]);
  expect(made.work).toEqual([{ kind: 'await_slot', order: orderFor() }]);
});

test('an order whose key may still arrive waits on the bus, and takes no slot meanwhile', () => {
  let unknown = true;
  const { slots, order } = bindingsWith(() => unknown);
  expect(order()).toMatchObject({ defer: true, message: { kind: 'run', slot: undefined } });
  expect(slots.inUse()).toBe(0);
  unknown = false;
  expect(order()).toMatchObject({ message: { kind: 'run', slot: { worker: 'worker-1' } } });
});

test('a waiting order whose key may still arrive is offered again later, and is not refused', () => {
  let unknown = true;
  const { claim } = bindingsWith(() => unknown);
  const claimed = claim();
  const made = decide(prepared, claimed);
  expect([made.events, made.work, made.timers]).toEqual([[], [], [{ set: 'slot', dueAt: NOW + 1_000 }]]);
  unknown = false;
  expect(decide(prepared, claimed).events).toMatchObject([{ type: 'started' }]);
});
