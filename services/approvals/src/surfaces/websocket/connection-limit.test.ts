import { expect, test } from 'vitest';
import { createConnectionLimit } from './connection-limit.ts';

test('slots are limited per name, and a released slot is free again', () => {
  const places = createConnectionLimit(2);
  const [first, second] = [places.take('ada'), places.take('ada')];
  expect(places.take('ada')).toBeUndefined();
  expect(places.take('grace')).toBeDefined();
  first?.release();
  // A second release has no effect.
  first?.release();
  expect(places.taken('ada')).toBe(1);
  expect(places.take('ada')).toBeDefined();
  expect(places.take('ada')).toBeUndefined();
  second?.release();
  expect(places.taken('ada')).toBe(1);
});
