import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { CleanFailure } from '../../ports/capability.ts';

export type FileLock = {
  /** True once it is held; false while somebody else holds it. */
  readonly tryAcquire: () => boolean;
  readonly release: () => void;
  readonly close: () => void;
};

/**
 * An exclusive lock beside a file. The operating system gives it back when its holder dies, however it dies, and keeps
 * it while the holder is merely stopped: what a zombie must not get round. SQLite brings such locks to every platform;
 * its database stays empty.
 */
export const openLock = (path: string): FileLock => {
  const database = new DatabaseSync(`${path}.lock`);
  let prepared = false;
  return {
    tryAcquire: () => {
      try {
        // Looks into the file, and so meets whoever holds the lock.
        if (!prepared) database.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY');
        prepared = true;
        database.exec('BEGIN EXCLUSIVE');
        return true;
      } catch (error) {
        if (error instanceof Error && /locked|busy/.test(error.message)) return false;
        throw error;
      }
    },
    release: () => database.exec('ROLLBACK'),
    close: () => database.close(),
  };
};

const LOCK_RETRY_MS = 20;
const LOCK_WAIT_MS = 5_000;

/** Waits until a lock is held; throws `CleanFailure` when somebody else has it for too long. */
export const acquire = async (lock: FileLock): Promise<void> => {
  const until = performance.now() + LOCK_WAIT_MS;
  while (!lock.tryAcquire()) {
    if (performance.now() > until) {
      throw new CleanFailure(
        errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'somebody else holds the lock of the file'),
      );
    }
    await delay(LOCK_RETRY_MS);
  }
};
