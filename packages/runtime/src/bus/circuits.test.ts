import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from '../service/system-clock.ts';
import { followCircuits } from './circuits.ts';
import type { Listener } from './listener.ts';

const LONG_MS = 60_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Recovery that gives these answers in turn, and repeats the last one. */
const follow = (...answers: readonly ({ readonly items: readonly unknown[] } | undefined)[]) => {
  let asks = 0;
  let reconnect = (): void => undefined;
  const listener: Pick<Listener, 'listen' | 'ask' | 'reconnected'> = {
    listen: () => ({ stop: () => undefined }),
    reconnected: (then) => {
      reconnect = then;
      return { stop: () => undefined };
    },
    ask: () => Promise.resolve(answers[Math.min(asks++, answers.length - 1)] as never),
  };
  const heard: number[] = [];
  const followed = followCircuits(listener, systemClock, 1, {
    hear: () => undefined,
    hearAll: (all) => heard.push(all.length),
  });
  let isKnown = false;
  void followed.asked.then(() => (isKnown = true));
  return { ...followed, heard, asks: () => asks, isKnown: () => isKnown, reconnect: () => reconnect() };
};

test('a poll follows a reconnection at once, and others every ten seconds', async () => {
  const following = follow({ items: [] });
  await vi.advanceTimersByTimeAsync(0);
  following.reconnect();
  expect(following.asks()).toBe(2);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(following.asks()).toBe(5);
  following.stop();
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(following.asks()).toBe(5);
});

test('a lost answer is requested again before the start continues', async () => {
  const following = follow(undefined, { items: [{}] });
  await vi.advanceTimersByTimeAsync(0);
  expect([following.asks(), following.isKnown()]).toEqual([1, false]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect([following.heard, following.isKnown()]).toEqual([[1], true]);
  following.stop();
});

test('the start does not wait long for recovery, and learns the circuits once recovery answers', async () => {
  const following = follow(undefined, undefined, undefined, { items: [] });
  await vi.advanceTimersByTimeAsync(2_000);
  expect([following.asks(), following.isKnown(), following.heard]).toEqual([3, true, []]);
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(following.heard.length).toBeGreaterThan(1);
  following.stop();
});
