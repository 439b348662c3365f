import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createChoices } from './choices.ts';
import { createTimeline } from './timeline.ts';

describe('the timeline', () => {
  test('the timeline runs steps by time, and steps of one time in order of planning', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20)), (delays) => {
        const timeline = createTimeline();
        const taken: (readonly [number, number])[] = [];
        for (const [order, ms] of delays.entries())
          timeline.in(ms, () => taken.push([timeline.now(), order]));
        while (timeline.step(Infinity));
        const planned = delays.map((ms, order) => [ms, order] as const);
        expect(taken).toEqual(planned.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]));
      }),
    );
  });

  test('the timeline skips cancelled steps and steps after the end', () => {
    const timeline = createTimeline();
    const taken: string[] = [];
    timeline.in(1, () => taken.push('called off'))();
    timeline.in(2, () => taken.push('in time'));
    timeline.in(9, () => taken.push('too late'));
    while (timeline.step(5));
    expect(taken).toEqual(['in time']);
    expect(timeline.isEmpty()).toBe(false);
  });
});

describe('choices', () => {
  test('a choice depends only on the seed and its label', () => {
    const [one, other, third] = [createChoices(7), createChoices(7), createChoices(8)];
    other.number('something else');
    const numbers = (choices: typeof one): readonly number[] => [
      choices.number('a'),
      choices.number('a'),
      choices.number('b'),
    ];
    const drawn = numbers(one);
    expect(numbers(other)).toEqual(drawn);
    expect(new Set(drawn).size).toBe(3);
    expect(numbers(third)).not.toEqual(drawn);
  });

  test('choices are spread evenly', () => {
    const choices = createChoices(1);
    const tenths = Array.from({ length: 10 }, () => 0);
    for (let i = 0; i < 10_000; i += 1) {
      const tenth = Math.floor(choices.number(`label ${String(i)}`) * 10);
      tenths[tenth] = (tenths[tenth] ?? 0) + 1;
    }
    expect(Math.min(...tenths)).toBeGreaterThan(850);
    expect(Math.max(...tenths)).toBeLessThan(1_150);
  });
});
