import { DatabaseSync } from 'node:sqlite';

export type FileLock = { readonly release: () => void };

/**
 * Takes an exclusive lock beside a file, or says that somebody else has it. The operating system gives it back when its
 * holder dies, however it dies, and keeps it while the holder is merely stopped: what a zombie must not get round.
 * SQLite brings such locks to every platform; its database stays empty.
 */
export const tryLock = (path: string): FileLock | undefined => {
  const database = new DatabaseSync(`${path}.lock`);
  try {
    database.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if (error instanceof Error && /locked|busy/.test(error.message)) return undefined;
    throw error;
  }
};
