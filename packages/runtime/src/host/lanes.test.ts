import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLanes, type Lane } from './lanes.ts';

type Item = { readonly aggregate: string; readonly lane: Lane; readonly n: number };
const item = (aggregate: string, lane: Lane, n = 0): Item => ({ aggregate, lane, n });
const lanesOf = (...items: readonly Item[]) => {
  const lanes = createLanes<Item>(({ lane }) => lane);
  for (const each of items) lanes.put(each);
  return lanes;
};
const namesOf = (items: readonly Item[]): readonly string[] => items.map(({ aggregate }) => aggregate);

describe('the order of messages that wait', () => {
  test('what moves work on goes before what begins work, and lazy messages go last', () => {
    const lanes = lanesOf(item('lazy', 'lazy'), item('new', 'next'), item('old', 'first'));
    expect(namesOf(lanes.take(10))).toEqual(['old', 'new', 'lazy']);
    expect(lanes.size()).toBe(0);
  });

  test('a lazy message is not urgent', () => {
    const lanes = lanesOf(item('a', 'lazy'));
    expect([lanes.urgent(), lanes.size()]).toEqual([0, 1]);
  });

  test('a message waits behind an earlier one of its aggregate, in every lane', () => {
    const lanes = lanesOf(item('a', 'next', 1), item('b', 'first'), item('a', 'first', 2));
    expect(lanes.take(10).map(({ aggregate, n }) => `${aggregate}${String(n)}`)).toEqual(['b0', 'a1', 'a2']);
  });

  test('a message takes along the lazy ones before it', () => {
    const lanes = lanesOf(item('a', 'lazy', 1), item('b', 'lazy', 1), item('a', 'first', 2));
    expect(lanes.urgent()).toBe(2);
    expect(lanes.take(2).map(({ aggregate, n }) => `${aggregate}${String(n)}`)).toEqual(['a1', 'a2']);
    expect(lanes.urgent()).toBe(0);
  });

  test('each batch has room for new work and for lazy messages, so that neither starves', () => {
    const many = (lane: Lane) => Array.from({ length: 100 }, (_, n) => item(`${lane}-${String(n)}`, lane));
    const lanes = lanesOf(...many('first'), ...many('next'), ...many('lazy'));
    const taken = lanes.take(50).map(({ lane }) => lane);
    expect(taken.filter((lane) => lane === 'next')).toHaveLength(5);
    expect(taken.filter((lane) => lane === 'lazy')).toHaveLength(5);
    expect(taken).toHaveLength(50);
  });

  test('every message is taken once, and the messages of an aggregate in their order', () => {
    const acts = fc.array(
      fc.oneof(
        fc.record({
          aggregate: fc.constantFrom('a', 'b', 'c', 'd'),
          lane: fc.constantFrom<Lane>('first', 'next', 'lazy'),
        }),
        fc.integer({ min: 1, max: 12 }),
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(acts, (sequence) => {
        const lanes = createLanes<Item>(({ lane }) => lane);
        const put: Item[] = [];
        const taken: Item[] = [];
        for (const act of sequence) {
          if (typeof act === 'number') taken.push(...lanes.take(act));
          else {
            const next = { ...act, n: put.length };
            put.push(next);
            lanes.put(next);
          }
          expect(lanes.size()).toBe(put.length - taken.length);
        }
        while (lanes.size() > 0) taken.push(...lanes.take(3));
        for (const aggregate of ['a', 'b', 'c', 'd'])
          expect(taken.filter((each) => each.aggregate === aggregate)).toEqual(
            put.filter((each) => each.aggregate === aggregate),
          );
      }),
    );
  });
});
