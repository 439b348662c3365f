import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { systemClock } from '@holdpoint/runtime/service/system-clock';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { expect, test } from 'vitest';
import { createPlaces } from './adapters/slots/slots.ts';
import { createRunner } from './adapters/runner/runner.ts';
import { executorLogic } from './logic.ts';
import { about, decider, EFFECT, NOW, orderFor } from '../testing/orders.ts';

const at = { now: NOW };
const logicWithPlaces = (mayLearnKeyOf?: (token: string) => boolean) => {
  const places = createPlaces({ worker: 'worker-1' }, 2);
  const runner = createRunner({
    capabilities: new Map(),
    places,
    clock: systemClock,
    note: () => Promise.resolve(),
    log: silentLogger(),
  });
  const { kind, inbound } = executorLogic({
    decider,
    places,
    runner,
    pools: [DEFAULT_POOL],
    ...(mayLearnKeyOf && { mayLearnKeyOf }),
  });
  return { places, decider: kind.decider, inbound };
};

test('an order that took a place along is kept, not begun, once effects may not start', () => {
  const { places, decider: shell } = logicWithPlaces();
  const run = { kind: 'run', payload: orderFor(), place: places.take(orderFor()) } as const;
  expect(shell.decide({ status: 'absent' }, run, at).events).toMatchObject([{ type: 'started' }]);
  places.close();
  const made = shell.decide({ status: 'absent' }, run, at);
  expect(made.events).toMatchObject([{ type: 'prepared' }]);
  expect(made.work).toEqual([{ kind: 'await_place', order: orderFor() }]);
});

test('a claim comes to nothing then, and waits for a place anew', () => {
  const { places, decider: shell } = logicWithPlaces();
  const place = places.take(orderFor());
  if (place === undefined) throw new Error('there are places');
  const prepared = decider.evolve({ status: 'absent' }, { type: 'prepared', ...about, order: orderFor() });
  const claim = { kind: 'claim', id: EFFECT, place } as const;
  expect(shell.decide(prepared, claim, at).events).toMatchObject([{ type: 'started' }]);
  places.close();
  const made = shell.decide(prepared, claim, at);
  expect(made.events).toEqual([]);
  expect(made.work).toEqual([{ kind: 'await_place', order: orderFor() }]);
});

test('an order whose key may still be learnt waits on the bus, and takes no place meanwhile', () => {
  let strange = true;
  const { places, inbound } = logicWithPlaces(() => strange);
  const decode = () => inbound[0]?.decode('hp.cmd.effect.run.default', orderFor(), { identity: 'm-1' });
  expect(decode()).toMatchObject({ later: true, message: { kind: 'run', place: undefined } });
  strange = false;
  expect(decode()).toMatchObject({ message: { kind: 'run', place: { worker: 'worker-1' } } });
  expect(places.areOpen()).toBe(true);
});

test('an order that was kept is offered again later while its key may still be learnt, and not refused', () => {
  let strange = true;
  const { places, decider: shell } = logicWithPlaces(() => strange);
  const place = places.take(orderFor());
  if (place === undefined) throw new Error('there are places');
  const prepared = decider.evolve({ status: 'absent' }, { type: 'prepared', ...about, order: orderFor() });
  const claim = { kind: 'claim', id: EFFECT, place } as const;
  const made = shell.decide(prepared, claim, at);
  expect([made.events, made.work, made.timers]).toEqual([[], [], [{ set: 'place', dueAt: NOW + 1_000 }]]);
  strange = false;
  expect(shell.decide(prepared, claim, at).events).toMatchObject([{ type: 'started' }]);
});
