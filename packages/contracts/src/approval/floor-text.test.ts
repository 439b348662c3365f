import { expect, test } from 'vitest';
import { raisedTexts } from './floor-text.ts';

const floor = { digest: 'a'.repeat(64), entries: ['production'] };
const HOUR_MS = 3_600_000;

test('a raised number names the demand of the requester and that of the floor', () => {
  expect(
    raisedTexts({
      timeoutMs: HOUR_MS,
      policy: { quorum: 2 },
      floor: {
        ...floor,
        raised: ['quorum', 'fourEyes', 'timeout'],
        asked: { audience: [], timeoutMs: 24 * HOUR_MS },
      },
    }),
  ).toEqual(['the quorum from 1 to 2', 'four eyes', 'the time limit from 1440 min to 60 min']);
});

test('a floor that raised nothing has no text', () => {
  expect(raisedTexts({ timeoutMs: HOUR_MS, floor })).toEqual([]);
});
