import { expect, test } from 'vitest';
import { compare, countLines } from './counted.ts';

test('the comparison tells lost effects, repeated effects and effects of no task apart', () => {
  const counts = countLines('key-1\tone\nkey-2\ttwo\nkey-2\ttwo\nkey-4\tfour\n');
  expect(compare(['one', 'two', 'three'], counts)).toEqual({
    lost: ['three'],
    twice: ['two'],
    strange: ['four'],
  });
});

test('effects that ran once for each task are no fault', () => {
  expect(compare(['one', 'two'], countLines('a\tone\nb\ttwo\n'))).toEqual({
    lost: [],
    twice: [],
    strange: [],
  });
});
