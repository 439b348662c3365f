import { open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { errorBody } from '@holdpoint/contracts/errors';
import { CleanFailure } from '../capabilities/capability.ts';
import { type FileLock, tryLock } from './file-lock.ts';

export type Line = { readonly key: string; readonly line: string; readonly assertInForce: () => void };
export type AppendLine = (line: Line) => Promise<{ readonly repeated: boolean }>;

type Waiting = Line & { readonly resolve: (result: { readonly repeated: boolean }) => void; readonly reject: (error: unknown) => void };

const LOCK_RETRY_MS = 20;
const LOCK_WAIT_MS = 5_000;

/**
 * A file whose lines carry keys, and which takes each key once, through crashes and with several executors.
 * While one write is on its way to the disk the next lines gather, so that many share one lock and one sync.
 */
export const createKeyedFile = (path: string): AppendLine => {
  const keys = new Set<string>();
  const waiting: Waiting[] = [];
  let readTo = 0;
  let writing = false;

  /** Learns the keys of what others have written since; a last line without an end was cut off by a crash. */
  const catchUp = async (file: Awaited<ReturnType<typeof open>>): Promise<string> => {
    const { size } = await file.stat();
    const rest = Buffer.alloc(size - readTo);
    await file.read(rest, 0, rest.length, readTo);
    const end = rest.lastIndexOf(0x0a) + 1;
    for (const line of rest.subarray(0, end).toString('utf8').split('\n')) keys.add(line.slice(0, line.indexOf('\t')));
    readTo += end;
    return end < rest.length ? '\n' : '';
  };

  const write = async (batch: readonly Waiting[]): Promise<void> => {
    const lock = await acquire(path);
    try {
      const file = await open(path, 'a+', 0o640);
      try {
        const mend = await catchUp(file);
        const fresh = new Map<string, Waiting>();
        const repeated: Waiting[] = [];
        for (const line of batch.filter(inForce)) {
          if (keys.has(line.key) || fresh.has(line.key)) repeated.push(line);
          else fresh.set(line.key, line);
        }
        if (fresh.size > 0) {
          await file.appendFile(mend + [...fresh.values()].map(({ key, line }) => `${key}\t${line}\n`).join(''));
          await file.datasync();
        }
        for (const { resolve } of fresh.values()) resolve({ repeated: false });
        for (const { resolve } of repeated) resolve({ repeated: true });
      } finally {
        await file.close();
      }
    } finally {
      lock.release();
    }
  };

  const drain = async (): Promise<void> => {
    writing = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0);
      await write(batch).catch((error: unknown) => {
        for (const { reject } of batch) reject(error);
      });
    }
    writing = false;
  };

  return (line) =>
    new Promise((resolve, reject) => {
      waiting.push({ ...line, resolve, reject });
      if (!writing) void drain();
    });
};

/** Refuses a line whose lease may be over; it has not been written. */
const inForce = ({ assertInForce, reject }: Waiting): boolean => {
  try {
    assertInForce();
    return true;
  } catch (error) {
    reject(error);
    return false;
  }
};

const acquire = async (path: string): Promise<FileLock> => {
  const until = performance.now() + LOCK_WAIT_MS;
  for (;;) {
    const lock = tryLock(path);
    if (lock !== undefined) return lock;
    if (performance.now() > until) {
      throw new CleanFailure(errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'somebody else holds the lock of the file'));
    }
    await delay(LOCK_RETRY_MS);
  }
};
