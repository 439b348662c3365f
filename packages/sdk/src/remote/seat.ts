import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { loadSqlite } from '@holdpoint/runtime/service/sqlite';

export type Seat = { readonly id: string; readonly release: () => void };

const idIn = (folder: string): string => {
  const file = join(folder, 'id');
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    const id = randomUUID();
    writeFileSync(file, `${id}\n`, { flag: 'wx', mode: 0o600 });
    return id;
  }
};

/**
 * Locks a folder for this process. The operating system releases the lock when the process dies, and keeps it while the process is
 * only stopped. The id inside is the seat: its next holder proves that this process is gone.
 */
export const takeSeat = async (folder: string): Promise<Seat> => {
  const { DatabaseSync } = loadSqlite();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const database = new DatabaseSync(join(folder, 'seat.lock'));
  try {
    database.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY');
    database.exec('BEGIN EXCLUSIVE');
    return { id: idIn(folder), release: () => database.close() };
  } catch (cause) {
    database.close();
    throw new HoldpointError(
      'ERR_IDEMPOTENCY_CONFLICT',
      `${folder} is the seat of another process: choose another`,
      { cause },
    );
  }
};
