import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from './system-clock.ts';

const DAY_MS = 86_400_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each([1, 24, 25, 30, 75])('a step after %i days runs once, and not earlier', (days) => {
  const step = vi.fn<() => void>();
  systemClock.after(days * DAY_MS, step);
  vi.advanceTimersByTime(days * DAY_MS - 1);
  expect(step).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(step).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(100 * DAY_MS);
  expect(step).toHaveBeenCalledTimes(1);
});

test('a step of thirty days that is called off after its first timer does not run', () => {
  const step = vi.fn<() => void>();
  const callOff = systemClock.after(30 * DAY_MS, step);
  vi.advanceTimersByTime(26 * DAY_MS);
  callOff();
  vi.advanceTimersByTime(30 * DAY_MS);
  expect(step).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
});

test('a step without a delay runs next', () => {
  const step = vi.fn<() => void>();
  systemClock.after(0, step);
  systemClock.after(-5, step);
  vi.advanceTimersByTime(0);
  expect(step).toHaveBeenCalledTimes(2);
});
