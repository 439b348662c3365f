import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { TaskId } from '@holdpoint/contracts/values/ids';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Slot } from '../../effect/decide.ts';
import { bareOrderFor, effectOf, orderFor } from '../../../testing/orders.ts';
import { createSlots } from './slots.ts';

const ORDER = orderFor();
const AGENT = bareOrderFor();

describe('places', () => {
  test('are as many as there are, each with a slot of its own', () => {
    const places = createSlots({ worker: 'worker-1' }, 2);
    const [one, two] = [places.take(ORDER), places.take(ORDER)];
    expect(one).toMatchObject({ worker: 'worker-1' });
    expect(one?.slot).not.toBe(two?.slot);
    expect(places.take(ORDER)).toBeUndefined();
    expect(places.inUse()).toBe(2);
  });

  test('that are given back can be taken again, under another slot', () => {
    const places = createSlots({ worker: 'worker-1' }, 1);
    const first = places.take(ORDER);
    places.free(first?.slot ?? 0);
    expect(places.inUse()).toBe(0);
    const second = places.take(ORDER);
    expect(second).toBeDefined();
    expect(second?.slot).not.toBe(first?.slot);
  });

  test('that are given back twice are one place', () => {
    const places = createSlots({ worker: 'worker-1' }, 2);
    const [one] = [places.take(ORDER), places.take(ORDER)];
    places.free(one?.slot ?? 0);
    places.free(one?.slot ?? 0);
    places.free(99);
    expect(places.inUse()).toBe(1);
  });
});

describe('whoever waits for a place', () => {
  test('has it at once where there is one', () => {
    const got: Slot[] = [];
    createSlots({ worker: 'worker-1' }, 1).wait(ORDER, (place) => got.push(place));
    expect(got).toHaveLength(1);
  });

  test('has it when one is given back, the longest waiting first', () => {
    const places = createSlots({ worker: 'worker-1' }, 1);
    const first = places.take(ORDER);
    const got: string[] = [];
    places.wait(ORDER, () => got.push('one'));
    places.wait(ORDER, () => got.push('two'));
    expect(got).toEqual([]);
    places.free(first?.slot ?? 0);
    expect(got).toEqual(['one']);
    expect(places.inUse()).toBe(1);
  });

  test('and gives it back unused hands it on to the next', () => {
    const places = createSlots({ worker: 'worker-1' }, 1);
    const first = places.take(ORDER);
    const got: string[] = [];
    for (const name of ['one', 'two', 'three']) {
      places.wait(ORDER, ({ slot }) => {
        got.push(name);
        places.free(slot);
      });
    }
    places.free(first?.slot ?? 0);
    expect(got).toEqual(['one', 'two', 'three']);
    expect(places.inUse()).toBe(0);
  });
});

test('whatever is taken, waited for and given back, there are never more in use than there are, and nobody waits beside a free one', () => {
  const acts = fc.array(fc.constantFrom('take', 'wait', 'free'), { maxLength: 40 });
  fc.assert(
    fc.property(acts, fc.integer({ min: 1, max: 4 }), (sequence, count) => {
      const places = createSlots({ worker: 'worker-1' }, count);
      const held: number[] = [];
      let waiting = 0;
      for (const act of sequence) {
        if (act === 'free') places.free(held.shift() ?? 0);
        else if (act === 'take') held.push(...[places.take(ORDER)?.slot ?? []].flat());
        else {
          waiting += 1;
          places.wait(ORDER, ({ slot }) => {
            waiting -= 1;
            held.push(slot);
          });
        }
        expect(places.inUse()).toBe(held.length);
        expect(held.length).toBeLessThanOrEqual(count);
        expect(waiting === 0 || held.length === count).toBe(true);
      }
    }),
  );
});

test('places that are closed are given to nobody, until they are opened: then to whoever has waited longest', () => {
  const places = createSlots({ worker: 'worker-1' }, 2);
  const running = places.take(ORDER);
  places.close();
  expect(places.areOpen()).toBe(false);
  expect(places.take(ORDER)).toBeUndefined();
  const given: string[] = [];
  for (const name of ['a', 'b', 'c']) places.wait(ORDER, () => void given.push(name));
  places.free(running?.slot ?? 0);
  expect(given).toEqual([]);
  places.open();
  expect(places.areOpen()).toBe(true);
  expect(given).toEqual(['a', 'b']);
  expect(places.inUse()).toBe(2);
});

test('what starts programs has places of its own: neither waits for the other', () => {
  const isCommand = (uses: string): boolean => uses === 'cap.agent.invoke';
  const places = createSlots({ worker: 'worker-1' }, 1, { count: 1, isCommand });
  const agent = places.take(AGENT);
  expect(places.take(AGENT)).toBeUndefined();
  expect(places.take(ORDER)).toBeDefined();
  const given: string[] = [];
  places.wait(ORDER, () => void given.push('append'));
  places.wait(AGENT, () => void given.push('agent'));
  places.free(agent?.slot ?? 0);
  expect(given).toEqual(['agent']);
  expect(places.inUse()).toBe(2);
});

describe('orders for one target', () => {
  const order = (task: string, to?: string): RunEffect =>
    bareOrderFor(effectOf({ task: TaskId.parse(task), ...(to !== undefined && { target: to }) }));
  const targetsWith = (limits: Readonly<Record<string, number>>) => ({
    of: ({ effect }: RunEffect) => (effect.target in limits ? effect.target : undefined),
    limitOf: (target: string) => limits[target] ?? 0,
  });

  test('are as many as it may have, and keep no place from others', () => {
    const places = createSlots({ worker: 'worker-1' }, 3, undefined, targetsWith({ x: 1 }));
    const first = places.take(order('t-1', 'x'));
    expect(first).toBeDefined();
    expect(places.take(order('t-2', 'x'))).toBeUndefined();
    expect(places.take(order('t-2', 'other'))).toBeDefined();
    const given: string[] = [];
    places.wait(order('t-3', 'x'), () => void given.push('x'));
    expect([given, places.isWaitedFor('x')]).toEqual([[], true]);
    places.free(first?.slot ?? 0);
    expect([given, places.isWaitedFor('x')]).toEqual([['x'], false]);
  });

  test('wait while it may have none, and begin once that has changed', () => {
    const limits = { x: 0 };
    const places = createSlots({ worker: 'worker-1' }, 3, undefined, targetsWith(limits));
    const given: number[] = [];
    for (let i = 0; i < 3; i += 1) places.wait(order('t-1', 'x'), () => void given.push(i));
    expect(given).toEqual([]);
    limits.x = 1;
    places.changed('x');
    expect(given).toEqual([0]);
    limits.x = 9;
    places.changed('x');
    expect(given).toEqual([0, 1, 2]);
  });

  test('that waits in its tens of thousands and gives back at once what it is given fill no stack', () => {
    const places = createSlots({ worker: 'worker-1' }, 1);
    const first = places.take(order('t-1'));
    let given = 0;
    for (let i = 0; i < 50_000; i += 1)
      places.wait(order('t-1'), ({ slot }) => {
        given += 1;
        places.free(slot);
      });
    expect(places.waiting()).toBe(50_000);
    places.free(first?.slot ?? 0);
    expect([given, places.waiting(), places.inUse()]).toEqual([50_000, 0, 0]);
  });

  test('never exceed a limit, whatever is taken, waited for, given back and changed', () => {
    const act = fc.oneof(
      fc.record({
        kind: fc.constantFrom('take' as const, 'wait' as const),
        task: fc.constantFrom('t-1', 't-2', 't-3'),
        to: fc.constantFrom('x', 'y', 'none'),
      }),
      fc.record({ kind: fc.constant('free' as const), which: fc.nat(10) }),
      fc.record({
        kind: fc.constant('limit' as const),
        to: fc.constantFrom('x', 'y'),
        most: fc.integer({ min: 0, max: 3 }),
      }),
    );
    fc.assert(
      fc.property(fc.array(act, { maxLength: 80 }), fc.integer({ min: 1, max: 4 }), (acts, count) => {
        const limits: Record<string, number> = { x: 2, y: 2 };
        const places = createSlots({ worker: 'worker-1' }, count, undefined, targetsWith(limits));
        const held: { slot: number; to: string }[] = [];
        const waiting: string[] = [];
        const wrong: string[] = [];
        const at = (to: string): number => held.filter((each) => each.to === to).length;
        const hasRoom = (to: string): boolean => to === 'none' || at(to) < (limits[to] ?? 0);
        for (const each of acts) {
          if (each.kind === 'limit') {
            limits[each.to] = each.most;
            places.changed(each.to);
          } else if (each.kind === 'free') {
            const [gone] = held.splice(each.which % Math.max(held.length, 1), 1);
            places.free(gone?.slot ?? 0);
          } else if (each.kind === 'take') {
            const roomy = held.length < count && hasRoom(each.to);
            const place = places.take(order(each.task, each.to));
            if ((place !== undefined) !== roomy) wrong.push(`taken: ${String(!roomy)}`);
            if (place !== undefined) held.push({ slot: place.slot, to: each.to });
          } else {
            waiting.push(each.to);
            places.wait(order(each.task, each.to), ({ slot }) => {
              if (!hasRoom(each.to) || held.length >= count) wrong.push('given beyond a limit');
              waiting.splice(waiting.indexOf(each.to), 1);
              held.push({ slot, to: each.to });
            });
          }
          expect(places.inUse()).toBe(held.length);
          expect(places.waiting()).toBe(waiting.length);
          expect(wrong).toEqual([]);
          // Nobody waits beside a place that is free for him.
          expect(held.length < count ? waiting.filter(hasRoom) : []).toEqual([]);
        }
      }),
    );
  });
});

test('places of an executor that stops are given to nobody any more, whoever opens them', () => {
  const places = createSlots({ worker: 'worker-1' }, 2);
  const running = places.take(ORDER);
  places.drain();
  places.open();
  expect([places.areOpen(), places.take(ORDER)]).toEqual([false, undefined]);
  const given: string[] = [];
  places.wait(ORDER, () => void given.push('one'));
  places.free(running?.slot ?? 0);
  expect(given).toEqual([]);
});
