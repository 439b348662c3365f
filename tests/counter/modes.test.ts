import { expect, test } from 'vitest';
import { createRandom } from '../torture/random.ts';
import { DEFAULT_MIX, drawMode, Mix, type Mode } from './modes.ts';

const drawn = (mix: Mix, count = 2_000): readonly Mode[] =>
  Array.from({ length: count }, (_, i) => drawMode(mix, createRandom(`test ${String(i)}`)));

test('requests draw exactly the modes of the mix', () => {
  expect(new Set(drawn(DEFAULT_MIX))).toEqual(new Set(Object.keys(DEFAULT_MIX)));
  expect(new Set(drawn({ hold: 1, normal: 0 }))).toEqual(new Set(['hold']));
});

test('the default mix has only honest modes', () => {
  expect(Object.keys(DEFAULT_MIX)).toEqual(expect.not.arrayContaining(['lie_200', 'lie_404', 'forget']));
});

test('the mode does not depend on the order of weights', () => {
  const turned = Mix.parse(Object.fromEntries(Object.entries(DEFAULT_MIX).toReversed()));
  expect(drawn(turned)).toEqual(drawn(DEFAULT_MIX));
});

test('modes are drawn by their weights', () => {
  const normal = drawn(DEFAULT_MIX).filter((mode) => mode === 'normal').length;
  expect(normal).toBeGreaterThan(1_300);
  expect(normal).toBeLessThan(1_500);
});

test.each([{}, { normal: 0 }, { normal: -1, slow: 2 }, { sometimes: 1 }])('%j is no mix', (mix) => {
  expect(Mix.safeParse(mix).success).toBe(false);
});
