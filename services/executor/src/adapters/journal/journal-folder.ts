import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { openLock } from '../files/file-lock.ts';
import { type Journal, type JournalOptions, openJournal } from './journal.ts';
import { makeJournal } from './journal-name.ts';

export type HeldJournal = Journal & { readonly release: () => Promise<void> };

/** Executors on one machine at the most that share a folder. */
const JOURNALS_MAX = 1_000;

/** Undefined while another process has it: the lock goes with its holder, however that ends. */
const hold = async (
  folder: string,
  options: JournalOptions,
  log: Logger,
): Promise<HeldJournal | undefined> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const lock = openLock(join(folder, 'journal'));
  try {
    if (lock.tryAcquire()) {
      await makeJournal(folder);
      const journal = await openJournal(folder, options, log);
      const release = async (): Promise<void> => {
        await journal.close();
        lock.close();
      };
      return { ...journal, release };
    }
  } catch (error) {
    lock.close();
    throw error;
  }
  lock.close();
  return undefined;
};

/** The journals of one machine: a folder each, named 1, 2, 3 and so on. */
export const journalsIn = (base: string, options: JournalOptions, log: Logger) => ({
  /** The first that nobody has, so that an executor which starts again has its own. */
  take: async (): Promise<HeldJournal> => {
    for (let number = 1; number <= JOURNALS_MAX; number += 1) {
      const journal = await hold(join(base, String(number)), options, log);
      if (journal !== undefined) return journal;
    }
    throw new Error(`${base} has no journal left that nobody holds`);
  },
  /** Every other that nobody has: its executor is gone, and what it noted has to be brought by somebody. */
  takeLeft: async (): Promise<readonly HeldJournal[]> => {
    const taken: HeldJournal[] = [];
    for (const name of (await readdir(base)).filter((each) => /^\d+$/.test(each))) {
      const journal = await hold(join(base, name), options, log);
      if (journal !== undefined) taken.push(journal);
    }
    return taken;
  },
});
export type Journals = ReturnType<typeof journalsIn>;
