import { expect, test } from 'vitest';
import { KEEP_DAYS, KEEP_MIN_DAYS } from './retention.ts';
import { streams } from '../bus/streams.ts';

const DAY_MS = 86_400_000;
const commands = streams.find(({ name }) => name === 'HP_CMD');

test('the minimum retention exceeds the bus retention of commands by a day', () => {
  expect(KEEP_MIN_DAYS * DAY_MS).toBeGreaterThanOrEqual((commands?.maxAgeMs ?? Infinity) + DAY_MS);
  expect(KEEP_DAYS).toBeGreaterThan(KEEP_MIN_DAYS);
});
