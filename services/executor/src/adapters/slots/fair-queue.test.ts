import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFairQueue } from './fair-queue.ts';

const drained = (queue: ReturnType<typeof createFairQueue<string>>): readonly string[] => {
  const all: string[] = [];
  for (let next = queue.next(); next !== undefined; next = queue.next()) all.push(next);
  return all;
};

/** A task with a requester of its own. */
const ofTask = (task: string) => ({ requester: task, task });

describe('waiters', () => {
  test('requesters take turns, then the tasks of each', () => {
    const queue = createFairQueue<string>();
    for (const item of ['a1', 'a2']) queue.join({ requester: 'ada', task: 'a' }, undefined, item);
    for (const item of ['b1', 'b2']) queue.join({ requester: 'ada', task: 'b' }, undefined, item);
    queue.join({ requester: 'bob', task: 'c' }, undefined, 'c1');
    expect(drained(queue)).toEqual(['a1', 'c1', 'b1', 'a2', 'b2']);
  });

  test('waiters of a blocked requester are skipped, for every target, until it is unblocked', () => {
    const queue = createFairQueue<string>();
    queue.join({ requester: 'ada', task: 'a' }, 'x', 'a-x');
    queue.blockRequester('ada');
    queue.join({ requester: 'ada', task: 'b' }, undefined, 'b');
    queue.join({ requester: 'bob', task: 'c' }, 'x', 'c-x');
    expect(drained(queue)).toEqual(['c-x']);
    queue.unblockRequester('ada');
    expect(drained(queue)).toEqual(['a-x', 'b']);
    expect(queue.size()).toBe(0);
  });

  test('tasks take turns, and within a task the order is kept', () => {
    const queue = createFairQueue<string>();
    for (const item of ['a1', 'a2', 'a3']) queue.join(ofTask('a'), undefined, item);
    for (const item of ['b1', 'b2']) queue.join(ofTask('b'), undefined, item);
    queue.join(ofTask('c'), undefined, 'c1');
    expect(drained(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });

  test('thousands of waiters delay another task by one turn', () => {
    const queue = createFairQueue<string>();
    for (let i = 0; i < 10_000; i += 1) queue.join(ofTask('large'), undefined, `large ${String(i)}`);
    expect(queue.next()).toBe('large 0');
    queue.join(ofTask('small'), undefined, 'small');
    expect([queue.next(), queue.next()]).toEqual(['large 1', 'small']);
    expect(queue.size()).toBe(9_998);
  });

  test('waiters for a blocked target delay no others, and are served once it is unblocked', () => {
    const queue = createFairQueue<string>();
    queue.block('dead');
    queue.join(ofTask('a'), 'dead', 'a to the dead one');
    queue.join(ofTask('a'), 'alive', 'a');
    queue.join(ofTask('b'), undefined, 'b');
    expect(drained(queue)).toEqual(['a', 'b']);
    expect(queue.isWaitedFor('dead')).toBe(true);
    queue.unblock('dead');
    expect(drained(queue)).toEqual(['a to the dead one']);
    expect(queue.isWaitedFor('dead')).toBe(false);
  });

  test('waiters of one task for two targets are served in turn', () => {
    const queue = createFairQueue<string>();
    queue.join(ofTask('a'), 'x', 'a-x1');
    queue.join(ofTask('a'), 'x', 'a-x2');
    queue.join(ofTask('a'), 'y', 'a-y1');
    queue.join(ofTask('b'), 'x', 'b-x1');
    expect(drained(queue)).toEqual(['a-x1', 'b-x1', 'a-x2', 'a-y1']);
  });
});

describe('random joins, blocks and services', () => {
  const task = fc.constantFrom('a', 'b', 'c', 'd');
  const target = fc.constantFrom(undefined, 'x', 'y');
  const act = fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('join' as const), task, target }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('next' as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constantFrom('holdUp' as const, 'letGo' as const),
        name: fc.constantFrom('x', 'y'),
      }),
    },
  );
  type Waiting = { readonly task: string; readonly target: string | undefined; readonly number: number };

  test('no waiter is lost, overtakes its own task, or is served twice in a turn', () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 120 }), (acts) => {
        const queue = createFairQueue<Waiting>();
        const waiting: Waiting[] = [];
        const heldUp = new Set<string>();
        /** How often each task was served since another one could have been. */
        const passedOver = new Map<string, Set<string>>();
        const isReady = ({ target: at }: Waiting): boolean => at === undefined || !heldUp.has(at);
        let number = 0;
        const serve = (): void => {
          const ready = waiting.filter(isReady);
          const next = queue.next();
          expect(next === undefined ? ready : []).toEqual([]);
          if (next === undefined) return;
          const same = ready.filter((each) => each.task === next.task && each.target === next.target);
          expect(same[0]).toBe(next);
          waiting.splice(waiting.indexOf(next), 1);
          passedOver.delete(next.task);
          for (const other of new Set(ready.map((each) => each.task))) {
            if (other === next.task) continue;
            const before = passedOver.get(other) ?? new Set();
            expect(before.has(next.task), `${next.task} twice before ${other}`).toBe(false);
            passedOver.set(other, before.add(next.task));
          }
        };
        for (const each of acts) {
          switch (each.kind) {
            case 'join': {
              const item = { task: each.task, target: each.target, number: (number += 1) };
              waiting.push(item);
              queue.join(ofTask(each.task), each.target, item);
              break;
            }
            case 'next':
              serve();
              break;
            case 'holdUp':
              heldUp.add(each.name);
              queue.block(each.name);
              passedOver.clear();
              break;
            case 'letGo':
              heldUp.delete(each.name);
              queue.unblock(each.name);
              passedOver.clear();
              break;
          }
          expect(queue.size()).toBe(waiting.length);
        }
        for (const name of heldUp) queue.unblock(name);
        heldUp.clear();
        passedOver.clear();
        while (waiting.length > 0) serve();
        expect(queue.next()).toBeUndefined();
      }),
    );
  });
});
