import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { TaskId } from '@holdpoint/contracts/values/ids';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Slot } from '../../effect/decide.ts';
import { bareOrderFor, effectOf, orderFor } from '../../../testing/orders.ts';
import { createSlots } from './slots.ts';

const ORDER = orderFor();
const AGENT = bareOrderFor();

describe('slots', () => {
  test('there are as many slots as configured', () => {
    const slots = createSlots({ worker: 'worker-1' }, 2);
    const [one, two] = [slots.take(ORDER), slots.take(ORDER)];
    expect(one).toMatchObject({ worker: 'worker-1' });
    expect(one?.slot).not.toBe(two?.slot);
    expect(slots.take(ORDER)).toBeUndefined();
    expect(slots.inUse()).toBe(2);
  });

  test('a freed slot can be taken again, under another number', () => {
    const slots = createSlots({ worker: 'worker-1' }, 1);
    const first = slots.take(ORDER);
    slots.free(first?.slot ?? 0);
    expect(slots.inUse()).toBe(0);
    const second = slots.take(ORDER);
    expect(second).toBeDefined();
    expect(second?.slot).not.toBe(first?.slot);
  });

  test('freeing a slot twice frees one slot', () => {
    const slots = createSlots({ worker: 'worker-1' }, 2);
    const [one] = [slots.take(ORDER), slots.take(ORDER)];
    slots.free(one?.slot ?? 0);
    slots.free(one?.slot ?? 0);
    slots.free(99);
    expect(slots.inUse()).toBe(1);
  });
});

describe('waiting for a slot', () => {
  test('a waiter gets a free slot at once', () => {
    const got: Slot[] = [];
    createSlots({ worker: 'worker-1' }, 1).wait(ORDER, (slot) => got.push(slot));
    expect(got).toHaveLength(1);
  });

  test('the longest waiter gets the next freed slot', () => {
    const slots = createSlots({ worker: 'worker-1' }, 1);
    const first = slots.take(ORDER);
    const got: string[] = [];
    slots.wait(ORDER, () => got.push('one'));
    slots.wait(ORDER, () => got.push('two'));
    expect(got).toEqual([]);
    slots.free(first?.slot ?? 0);
    expect(got).toEqual(['one']);
    expect(slots.inUse()).toBe(1);
  });

  test('an unused slot goes to the next waiter', () => {
    const slots = createSlots({ worker: 'worker-1' }, 1);
    const first = slots.take(ORDER);
    const got: string[] = [];
    for (const name of ['one', 'two', 'three']) {
      slots.wait(ORDER, ({ slot }) => {
        got.push(name);
        slots.free(slot);
      });
    }
    slots.free(first?.slot ?? 0);
    expect(got).toEqual(['one', 'two', 'three']);
    expect(slots.inUse()).toBe(0);
  });
});

test('never are more slots in use than exist, and no order waits beside a free one', () => {
  const acts = fc.array(fc.constantFrom('take', 'wait', 'free'), { maxLength: 40 });
  fc.assert(
    fc.property(acts, fc.integer({ min: 1, max: 4 }), (sequence, count) => {
      const slots = createSlots({ worker: 'worker-1' }, count);
      const held: number[] = [];
      let waiting = 0;
      for (const act of sequence) {
        if (act === 'free') slots.free(held.shift() ?? 0);
        else if (act === 'take') held.push(...[slots.take(ORDER)?.slot ?? []].flat());
        else {
          waiting += 1;
          slots.wait(ORDER, ({ slot }) => {
            waiting -= 1;
            held.push(slot);
          });
        }
        expect(slots.inUse()).toBe(held.length);
        expect(held.length).toBeLessThanOrEqual(count);
        expect(waiting === 0 || held.length === count).toBe(true);
      }
    }),
  );
});

test('closed slots go to no order until they open, then to the longest waiter', () => {
  const slots = createSlots({ worker: 'worker-1' }, 2);
  const running = slots.take(ORDER);
  slots.close();
  expect(slots.areOpen()).toBe(false);
  expect(slots.take(ORDER)).toBeUndefined();
  const given: string[] = [];
  for (const name of ['a', 'b', 'c']) slots.wait(ORDER, () => void given.push(name));
  slots.free(running?.slot ?? 0);
  expect(given).toEqual([]);
  slots.open();
  expect(slots.areOpen()).toBe(true);
  expect(given).toEqual(['a', 'b']);
  expect(slots.inUse()).toBe(2);
});

test('effects that start processes have their own slots', () => {
  const isCommand = (uses: string): boolean => uses === 'cap.agent.invoke';
  const slots = createSlots({ worker: 'worker-1' }, 1, { count: 1, isCommand });
  const agent = slots.take(AGENT);
  expect(slots.take(AGENT)).toBeUndefined();
  expect(slots.take(ORDER)).toBeDefined();
  const given: string[] = [];
  slots.wait(ORDER, () => void given.push('append'));
  slots.wait(AGENT, () => void given.push('agent'));
  slots.free(agent?.slot ?? 0);
  expect(given).toEqual(['agent']);
  expect(slots.inUse()).toBe(2);
});

describe('limits of a target', () => {
  const order = (task: string, to?: string): RunEffect =>
    bareOrderFor(effectOf({ task: TaskId.parse(task), ...(to !== undefined && { target: to }) }));
  const targetsWith = (limits: Readonly<Record<string, number>>) => ({
    of: ({ effect }: RunEffect) => (effect.target in limits ? effect.target : undefined),
    limitOf: (target: string) => limits[target] ?? 0,
  });

  test('orders for one target are limited, and block no other slots', () => {
    const slots = createSlots({ worker: 'worker-1' }, 3, undefined, targetsWith({ x: 1 }));
    const first = slots.take(order('t-1', 'x'));
    expect(first).toBeDefined();
    expect(slots.take(order('t-2', 'x'))).toBeUndefined();
    expect(slots.take(order('t-2', 'other'))).toBeDefined();
    const given: string[] = [];
    slots.wait(order('t-3', 'x'), () => void given.push('x'));
    expect([given, slots.isWaitedFor('x')]).toEqual([[], true]);
    slots.free(first?.slot ?? 0);
    expect([given, slots.isWaitedFor('x')]).toEqual([['x'], false]);
  });

  test('orders for a target wait while its limit is zero, and begin once it changes', () => {
    const limits = { x: 0 };
    const slots = createSlots({ worker: 'worker-1' }, 3, undefined, targetsWith(limits));
    const given: number[] = [];
    for (let i = 0; i < 3; i += 1) slots.wait(order('t-1', 'x'), () => void given.push(i));
    expect(given).toEqual([]);
    limits.x = 1;
    slots.changed('x');
    expect(given).toEqual([0]);
    limits.x = 9;
    slots.changed('x');
    expect(given).toEqual([0, 1, 2]);
  });

  test('tens of thousands of waiters that free their slots at once do not overflow the stack', () => {
    const slots = createSlots({ worker: 'worker-1' }, 1);
    const first = slots.take(order('t-1'));
    let given = 0;
    for (let i = 0; i < 50_000; i += 1)
      slots.wait(order('t-1'), ({ slot }) => {
        given += 1;
        slots.free(slot);
      });
    expect(slots.waiting()).toBe(50_000);
    slots.free(first?.slot ?? 0);
    expect([given, slots.waiting(), slots.inUse()]).toEqual([50_000, 0, 0]);
  });

  test('the limit of a target is never exceeded', () => {
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
        const slots = createSlots({ worker: 'worker-1' }, count, undefined, targetsWith(limits));
        const held: { slot: number; to: string }[] = [];
        const waiting: string[] = [];
        const wrong: string[] = [];
        const at = (to: string): number => held.filter((each) => each.to === to).length;
        const hasRoom = (to: string): boolean => to === 'none' || at(to) < (limits[to] ?? 0);
        for (const each of acts) {
          if (each.kind === 'limit') {
            limits[each.to] = each.most;
            slots.changed(each.to);
          } else if (each.kind === 'free') {
            const [gone] = held.splice(each.which % Math.max(held.length, 1), 1);
            slots.free(gone?.slot ?? 0);
          } else if (each.kind === 'take') {
            const roomy = held.length < count && hasRoom(each.to);
            const slot = slots.take(order(each.task, each.to));
            if ((slot !== undefined) !== roomy) wrong.push(`taken: ${String(!roomy)}`);
            if (slot !== undefined) held.push({ slot: slot.slot, to: each.to });
          } else {
            waiting.push(each.to);
            slots.wait(order(each.task, each.to), ({ slot }) => {
              if (!hasRoom(each.to) || held.length >= count) wrong.push('given beyond a limit');
              waiting.splice(waiting.indexOf(each.to), 1);
              held.push({ slot, to: each.to });
            });
          }
          expect(slots.inUse()).toBe(held.length);
          expect(slots.waiting()).toBe(waiting.length);
          expect(wrong).toEqual([]);
          // No order waits while a slot is free for it.
          expect(held.length < count ? waiting.filter(hasRoom) : []).toEqual([]);
        }
      }),
    );
  });
});

test('a stopping executor gives out no slots, even after open', () => {
  const slots = createSlots({ worker: 'worker-1' }, 2);
  const running = slots.take(ORDER);
  slots.drain();
  slots.open();
  expect([slots.areOpen(), slots.take(ORDER)]).toEqual([false, undefined]);
  const given: string[] = [];
  slots.wait(ORDER, () => void given.push('one'));
  slots.free(running?.slot ?? 0);
  expect(given).toEqual([]);
});

test('ten sleeping tasks of one requester leave places to another one', () => {
  const slots = createSlots({ worker: 'worker-1' }, 100, { count: 8, isCommand: () => true });
  const orderOf = (requester: string, task: string): RunEffect => ({
    ...bareOrderFor(effectOf({ task: TaskId.parse(task) })),
    requester,
  });
  const began: string[] = [];
  const wait = (requester: string, task: string): void =>
    slots.wait(orderOf(requester, task), () => began.push(`${requester} ${task}`));
  for (let task = 0; task < 10; task += 1) wait('mallory', `sleep-${String(task)}`);
  expect(began).toHaveLength(6);
  wait('ada', 'echo-1');
  wait('unverified:one', 'echo-2');
  wait('unverified:two', 'echo-3');
  expect(began.slice(6)).toEqual(['ada echo-1', 'unverified:one echo-2']);
  slots.free(1);
  slots.free(2);
  // Requesters take turns, however many tasks one has.
  expect(began.slice(8)).toEqual(['mallory sleep-6', 'unverified:two echo-3']);
});
