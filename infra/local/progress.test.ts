import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createProgress } from './progress.ts';

const lines: string[] = [];
const progress = createProgress((line) => void lines.push(line));

beforeEach(() => {
  lines.length = 0;
  vi.useFakeTimers();
});
afterEach(() => void vi.useRealTimers());

const lasting = (ms: number) => () =>
  new Promise<string>((resolve) => void setTimeout(() => resolve('result'), ms));

test('steps below one second print nothing', async () => {
  const step = progress.step('fetching', lasting(900));
  await vi.advanceTimersByTimeAsync(900);
  expect(await step).toBe('result');
  expect(lines).toEqual([]);
});

test('longer steps print a start, their progress and an end', async () => {
  const step = progress.step('fetching', lasting(12_000));
  await vi.advanceTimersByTimeAsync(12_000);
  await step;
  expect(lines).toEqual(['  fetching ...', '  fetching ... 11.0 s so far', '  fetching: done in 12.0 s']);
});

test('a failed step is not reported as done', async () => {
  const step = progress.step('fetching', async () => {
    await lasting(2_000)();
    throw new Error('no');
  });
  const [settled] = await Promise.all([Promise.allSettled([step]), vi.advanceTimersByTimeAsync(30_000)]);
  expect(settled).toMatchObject([{ status: 'rejected', reason: { message: 'no' } }]);
  expect(lines).toEqual(['  fetching ...']);
});
