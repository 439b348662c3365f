import { describe, expect, test } from 'vitest';
import { rangeOf } from './artifact.ts';

describe('the range of a request for content', () => {
  test.each([
    [undefined, undefined],
    ['bytes=-', undefined],
    ['items=0-1', undefined],
    ['bytes=0-1,4-5', undefined],
    ['bytes=0-3', { from: 0, length: 4 }],
    ['bytes=4-', { from: 4, length: 6 }],
    ['bytes=8-99', { from: 8, length: 2 }],
    ['bytes=-3', { from: 7, length: 3 }],
    ['bytes=-99', { from: 0, length: 10 }],
  ])('%s of ten bytes', (header, range) => {
    expect(rangeOf(header, 10)).toEqual(range);
  });

  test.each(['bytes=10-', 'bytes=5-4', 'bytes=-0'])('%s of ten bytes is refused', (header) => {
    expect(() => rangeOf(header, 10)).toThrow('the range is empty');
  });
});
