import { expect, test } from 'vitest';
import { createRandom } from '../random.ts';
import { type Bound, fitLine, assess, type Point } from './series.ts';

const MIB = 1_048_576;
const HOUR = 3_600;
const flat: Bound = { kind: 'flat', allowance: 24 * MIB };

const points = (valueAt: (t: number) => number, durationSeconds = HOUR, every = 10): readonly Point[] =>
  Array.from({ length: durationSeconds / every }, (_, i): Point => [i * every, valueAt(i * every)]);
const findingOf = (valueAt: (t: number) => number, bound: Bound = flat, durationSeconds = HOUR) =>
  assess(
    { name: 'a series', unit: 'bytes', bound, points: points(valueAt, durationSeconds) },
    durationSeconds,
  ).finding;

/** The memory of a garbage-collected process: it rises and falls. */
const sawtooth = (t: number): number => 120 * MIB + (t % 70) * 0.8 * MIB;
const noise = createRandom('noise');
const noisy = (): number => (noise.next() - 0.5) * 40 * MIB;

test('the fit through points of a line is that line', () => {
  const line = fitLine(points((t) => 5 + 0.25 * t));
  expect(line?.perSecond).toBeCloseTo(0.25);
  expect(line?.from).toBeCloseTo(5);
  expect(line?.noise).toBeCloseTo(0);
});

test.each<readonly [string, (t: number) => number]>([
  ['is constant', () => 120 * MIB],
  ['falls', (t) => 120 * MIB - t * 1_000],
  ['comes and goes', sawtooth],
  ['fluctuates', (t) => sawtooth(t) + noisy()],
  ['fills in the first half', (t) => Math.min(t, HOUR / 2) * 0.2 * MIB],
  ['has one small step', (t) => (t < 2_700 ? 120 : 130) * MIB],
  ['is zero', () => 0],
])('a series that %s is flat', (_what, valueAt) => {
  expect(findingOf(valueAt)).toBe('flat');
});

/** A leak of 20 MiB per half hour and of 1.2 MiB per minute, under different noise. */
test.each<readonly [string, (t: number) => number]>([
  ['a straight leak', (t) => 100 * MIB + t * 0.02 * MIB],
  ['a leak below the fluctuation', (t) => sawtooth(t) + t * 0.02 * MIB],
  ['one in noise', (t) => 120 * MIB + noisy() + t * 0.03 * MIB],
  ['one in steps', (t) => 100 * MIB + Math.floor(t / 300) * 8 * MIB],
  ['a leak that begins late', (t) => 100 * MIB + Math.max(0, t - 2_000) * 0.05 * MIB],
])('%s grows', (_what, valueAt) => {
  expect(findingOf(valueAt)).toBe('grows');
});

test('a table without deletes grows in short and long runs', () => {
  const rows: Bound = { kind: 'flat', allowance: 500 };
  const kept = (seconds: number) => (t: number) => Math.min(t, seconds) * 20;
  expect(findingOf(kept(300), rows)).toBe('flat');
  expect(findingOf(kept(Infinity), rows)).toBe('grows');
  expect(findingOf(kept(80), rows, 300)).toBe('flat');
  expect(findingOf(kept(Infinity), rows, 300)).toBe('grows');
});

test('a series with a limit is compared with it', () => {
  const limit: Bound = { kind: 'limit', most: 1_000 };
  expect(findingOf((t) => t / 10, limit)).toBe('within its limit');
  expect(findingOf((t) => t, limit)).toBe('over its limit');
});

test('a few points show no trend', () => {
  expect(findingOf((t) => t * MIB, flat, 50)).toBe('too few');
});
