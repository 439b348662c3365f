import { setTimeout as delay } from 'node:timers/promises';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { loadSqlite } from '@holdpoint/runtime/service/sqlite';
import { CleanFailure } from '../../ports/capability.ts';

const { DatabaseSync } = loadSqlite();

export type FileLock = {
  /** False while another process holds it. */
  readonly tryAcquire: () => boolean;
  readonly release: () => void;
  readonly close: () => void;
};

/**
 * An exclusive lock beside a file. The operating system releases it when the holder dies, and keeps it while the
 * holder is only stopped, so that a zombie cannot get around it. SQLite provides such locks on every platform; its
 * database stays empty.
 */
export const openLock = (path: string): FileLock => {
  const database = new DatabaseSync(`${path}.lock`);
  let prepared = false;
  return {
    tryAcquire: () => {
      try {
        // Reads the file, and so fails while another process holds the lock.
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

/** Waits for the lock. Throws `CleanFailure` when another process holds it for too long. */
export const acquire = async (lock: FileLock): Promise<void> => {
  const until = performance.now() + LOCK_WAIT_MS;
  while (!lock.tryAcquire()) {
    if (performance.now() > until) {
      throw new CleanFailure(
        errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'Another process holds the lock of the file'),
      );
    }
    await delay(LOCK_RETRY_MS);
  }
};
