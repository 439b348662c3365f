import { expect, test } from 'vitest';
import { createPlaces } from './connection-limit.ts';

test('nobody has more places than there are for one name, and each that is given back is free again', () => {
  const places = createPlaces(2);
  const [first, second] = [places.take('ada'), places.take('ada')];
  expect(places.take('ada')).toBeUndefined();
  expect(places.take('grace')).toBeDefined();
  first?.free();
  // Given back twice, it is still one.
  first?.free();
  expect(places.taken('ada')).toBe(1);
  expect(places.take('ada')).toBeDefined();
  expect(places.take('ada')).toBeUndefined();
  second?.free();
  expect(places.taken('ada')).toBe(1);
});
