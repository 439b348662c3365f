import { describe, expect, test } from 'vitest';
import { DEAD_END, examine, HOLDS, type Model } from './examine.ts';

type World = { readonly at: number };

/** A walk over numbers: `ways` lists the successors of each. */
const modelOf = (ways: Readonly<Record<number, readonly number[]>>, wrong?: number): Model<World> => ({
  start: { at: 0 },
  steps: ({ at }) => (ways[at] ?? []).map((to) => [`to ${String(to)}`, { at: to }] as const),
  wrong: ({ at }) => (at === wrong ? ['forbidden'] : []),
  rests: ({ at }) => at === 9,
});

describe('a model', () => {
  test('a model holds without faults and with a reachable rest', () => {
    const { verdict, worlds } = examine(modelOf({ 0: [1, 2], 1: [0, 9], 2: [1], 9: [9] }));
    expect({ verdict, worlds: worlds.length }).toEqual({ verdict: HOLDS, worlds: 4 });
  });

  test('a faulty model shows the shortest way to its fault', () => {
    const found = examine(modelOf({ 0: [1, 2], 1: [3], 3: [4], 2: [4], 4: [9] }, 4));
    expect(found).toMatchObject({ verdict: 'forbidden', way: ['to 2', 'to 4'] });
  });

  test('a model that starts faulty has an empty way', () => {
    expect(examine(modelOf({ 0: [9] }, 0))).toMatchObject({ verdict: 'forbidden', way: [] });
  });

  test('a model that gets stuck shows the shortest way there', () => {
    expect(examine(modelOf({ 0: [1, 9], 1: [2], 2: [] }))).toMatchObject({
      verdict: DEAD_END,
      way: ['to 1'],
    });
  });

  test('a model with a loop and no way out is stuck', () => {
    expect(examine(modelOf({ 0: [1, 9], 1: [2], 2: [1] }))).toMatchObject({ verdict: DEAD_END });
  });

  test('a model with a loop and a way out is not stuck', () => {
    expect(examine(modelOf({ 0: [1], 1: [0, 9] }))).toMatchObject({ verdict: HOLDS });
  });

  test('a model above the limit of worlds is refused', () => {
    const endless: Model<World> = {
      ...modelOf({}),
      steps: ({ at }) => [['on', { at: at + 1 }]],
    };
    expect(() => examine(endless, 100)).toThrow('more than 100 worlds');
  });
});
