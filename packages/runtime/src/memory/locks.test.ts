import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLocks } from './locks.ts';

/** Lets everything go on that can. */
const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Asks for names, and tells when it has them. */
const asking = (locks: ReturnType<typeof createLocks>, names: readonly string[]) => {
  const waiter: { release?: () => void } = {};
  void locks.acquire(names).then((release) => {
    waiter.release = release;
  });
  return waiter;
};

test('a held lock is waited for', async () => {
  const locks = createLocks();
  const release = await locks.acquire(['a', 'b']);
  const waiter = asking(locks, ['b', 'c']);
  await settle();
  expect(waiter.release).toBeUndefined();
  release();
  await settle();
  expect(waiter.release).toBeDefined();
});

test('a free lock is taken at once', async () => {
  const locks = createLocks();
  await locks.acquire(['a']);
  const free = asking(locks, ['b']);
  const none = asking(locks, []);
  await settle();
  expect(free.release).toBeDefined();
  expect(none.release).toBeDefined();
});

test('a release wakes every waiter whose names are free', async () => {
  const locks = createLocks();
  const release = await locks.acquire(['a', 'b']);
  const waiters = [asking(locks, ['a']), asking(locks, ['b'])];
  await settle();
  release();
  await settle();
  expect(waiters.map((waiter) => waiter.release !== undefined)).toEqual([true, true]);
});

test('releasing twice releases no lock of another holder', async () => {
  const locks = createLocks();
  const first = await locks.acquire(['a']);
  first();
  await locks.acquire(['a']);
  first();
  const third = asking(locks, ['a']);
  await settle();
  expect(third.release).toBeUndefined();
});

describe('taking what is free', () => {
  test('acquireFree takes the free names without waiting', async () => {
    const locks = createLocks();
    await locks.acquire(['a']);
    const { taken, release } = locks.acquireFree(new Set(['a', 'b']));
    expect(taken).toEqual(['b']);
    expect(locks.acquireFree(new Set(['a', 'b'])).taken).toEqual([]);
    release();
    expect(locks.acquireFree(new Set(['a', 'b'])).taken).toEqual(['b']);
  });
});

test('no caller waits forever, and no name has two holders', async () => {
  const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(fc.array(names, { maxLength: 12 }), fc.scheduler(), async (requests, scheduler) => {
      const locks = createLocks();
      const holders = new Map<string, number>();
      const count = (wanted: readonly string[], by: number): void => {
        for (const name of wanted) {
          holders.set(name, (holders.get(name) ?? 0) + by);
          expect(holders.get(name)).toBeLessThanOrEqual(1);
        }
      };
      const all = requests.map(async (wanted) => {
        const release = await locks.acquire(wanted);
        count(wanted, 1);
        await scheduler.schedule(Promise.resolve());
        count(wanted, -1);
        release();
      });
      await scheduler.waitFor(Promise.all(all));
    }),
    { numRuns: 50 },
  );
});
