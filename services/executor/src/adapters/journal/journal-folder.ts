import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { openLock } from '../files/file-lock.ts';
import { type Journal, type JournalOptions, openJournal } from './journal.ts';
import { makeJournal } from './journal-identity.ts';

export type HeldJournal = Journal & { readonly release: () => Promise<void> };

/** Maximum executors on one machine that share a folder. */
const JOURNALS_MAX = 1_000;

/** Undefined while another process holds it. The lock ends with its holder. */
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

/** The journals of one machine: one folder each, named 1, 2, 3 and so on. */
export const journalsIn = (base: string, options: JournalOptions, log: Logger) => ({
  /** Takes the first free journal, so that a restarted executor gets its own back. */
  take: async (): Promise<HeldJournal> => {
    for (let number = 1; number <= JOURNALS_MAX; number += 1) {
      const journal = await hold(join(base, String(number)), options, log);
      if (journal !== undefined) return journal;
    }
    throw new Error(`${base} has no free journal left`);
  },
  /** Takes all other free journals: their executors are gone, and their entries still have to be reported. */
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
