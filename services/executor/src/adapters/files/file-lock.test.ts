import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { holdLock } from '../../../testing/lock-holder.ts';
import { scratchFolder } from '../../../testing/scratch.ts';
import { openLock } from './file-lock.ts';
import { type AppendLine, createKeyedFile } from './keyed-file.ts';

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
let path: string;
let append: AppendLine;

beforeEach(async () => {
  scratch = await scratchFolder();
  path = join(scratch.path, 'sample.txt');
  append = createKeyedFile(path);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await scratch.remove();
});

const add = (key: string, assertInForce = (): void => undefined) =>
  append({ key, line: 'hello', assertInForce });

test('a lock has one holder, also within one process, and each file has its own', () => {
  const [one, two, other] = [openLock(path), openLock(path), openLock(`${path}.2`)];
  expect([one.tryAcquire(), two.tryAcquire(), other.tryAcquire()]).toEqual([true, false, true]);
  one.release();
  expect(two.tryAcquire()).toBe(true);
  two.release();
  for (const lock of [one, two, other]) lock.close();
});

test('a closed lock is free', () => {
  const [one, two] = [openLock(path), openLock(path)];
  one.tryAcquire();
  one.close();
  expect(two.tryAcquire()).toBe(true);
  two.close();
});

describe('a lock of another process', () => {
  test('a lock is free when its holder is killed', async () => {
    const holder = await holdLock(path);
    const adding = add('a');
    await holder.kill();
    expect(await adding).toEqual({ repeated: false });
    expect(await readFile(path, 'utf8')).toBe('a\thello\n');
  });

  test('a lock of a stopped process is not free, and waiting for it ends in a clean failure', async () => {
    const holder = await holdLock(path);
    holder.process.kill('SIGSTOP');
    // The wait as the writer sees it: every look at the clock is a second later.
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => (now += 1_000));
    await expect(add('a')).rejects.toMatchObject({
      name: 'CleanFailure',
      body: { code: 'EXECUTOR_TARGET_UNAVAILABLE' },
    });
    vi.restoreAllMocks();
    await holder.kill();
    expect(await add('a')).toEqual({ repeated: false });
  });

  test('the lease is checked only after the lock is acquired', async () => {
    const holder = await holdLock(path);
    const looks = vi.spyOn(performance, 'now');
    let asked = 0;
    const adding = add('a', () => void (asked += 1));
    // It has looked at the clock, and so tried the lock, several times.
    await expect.poll(() => looks.mock.calls.length).toBeGreaterThan(5);
    expect(asked).toBe(0);
    await holder.kill();
    await adding;
    expect(asked).toBe(1);
  });
});
