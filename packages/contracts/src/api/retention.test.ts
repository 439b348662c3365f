import { expect, test } from 'vitest';
import { KEEP_DAYS, KEEP_MIN_DAYS } from './retention.ts';
import { streams } from '../bus/streams.ts';

const DAY_MS = 86_400_000;
const commands = streams.find(({ name }) => name === 'HP_CMD');

test('what has ended is kept for a day more than any command about it stays on the bus', () => {
  expect(KEEP_MIN_DAYS * DAY_MS).toBeGreaterThanOrEqual((commands?.maxAgeMs ?? Infinity) + DAY_MS);
  expect(KEEP_DAYS).toBeGreaterThan(KEEP_MIN_DAYS);
});
