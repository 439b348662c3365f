import { appendFile, mkdir, open, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { orderFor } from '../../../testing/orders.ts';
import { scratchFolder } from '../../../testing/scratch.ts';
import { type Appendable, type Journal, type JournalOptions, openJournal } from './journal.ts';
import { makeJournal } from './journal-identity.ts';
import { JournalDamaged } from './segments.ts';

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
let folder: string;
beforeEach(async () => {
  scratch = await scratchFolder();
  folder = join(scratch.path, '1');
  await makeJournal(folder);
});
const opened: Journal[] = [];
afterEach(async () => {
  for (const journal of opened.splice(0)) await journal.close();
  await scratch.remove();
});

const order = orderFor();
const DAY_MS = 86_400_000;
const ample = { keepMs: DAY_MS, maxBytes: 1e9 };
const openIt = async (options: Partial<JournalOptions> = {}): Promise<Journal> => {
  const journal = await openJournal(folder, { ...ample, ...options }, silentLogger());
  opened.push(journal);
  return journal;
};
const positions = async (journal: Journal, after = 0, asFarAsItGoes = false): Promise<readonly number[]> => {
  const found: number[] = [];
  for await (const entries of journal.entriesAfter(after, asFarAsItGoes))
    found.push(...entries.map(({ position }) => position));
  return found;
};
const files = async (): Promise<readonly string[]> =>
  (await readdir(folder)).filter((name) => name.endsWith('.jsonl')).toSorted();
const lastFile = async (): Promise<string> => join(folder, (await files()).at(-1) ?? '');

describe('entries', () => {
  test('an entry is found after a restart with everything that a doubt needs', async () => {
    const first = await openIt();
    await Promise.all([first.append(order, 1, 1), first.append(order, 3, 2)]);
    await first.close();
    const second = await openIt();
    expect(second.id).toBe(first.id);
    expect(second.position()).toBe(2);
    const entries = [];
    for await (const some of second.entriesAfter(0, false)) entries.push(...some);
    expect(entries).toMatchObject([
      { position: 1, epoch: 1, order },
      { position: 2, epoch: 3, order },
    ]);
  });

  test("entries are read from the ledger's position, across files", async () => {
    const journal = await openIt({ segmentBytes: 1 });
    for (const position of [1, 2, 2, 3, 5, 8]) await journal.append(order, 1, position);
    expect((await files()).length).toBe(6);
    expect(await positions(journal)).toEqual([1, 2, 2, 3, 5, 8]);
    expect(await positions(journal, 2)).toEqual([3, 5, 8]);
    expect(await positions(journal, 4)).toEqual([5, 8]);
    expect(await positions(journal, 8)).toEqual([]);
  });

  test('entries are read while others are being written', async () => {
    const journal = await openIt();
    void journal.append(order, 1, 1);
    expect(await positions(journal)).toEqual([1]);
  });

  test("entries are readable only for the executor's user", async () => {
    const journal = await openIt();
    await journal.append(order, 1, 1);
    expect((await stat(await lastFile())).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, 'journal.json'))).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  test('concurrent entries share one sync', async () => {
    let syncs = 0;
    const openNew = async (path: string): Promise<Appendable> => {
      const handle = await open(path, 'ax');
      const datasync = (): Promise<void> => ((syncs += 1), handle.datasync());
      return { appendFile: handle.appendFile.bind(handle), datasync, close: handle.close.bind(handle) };
    };
    const journal = await openIt({ openNew });
    await Promise.all(Array.from({ length: 200 }, () => journal.append(order, 1, 1)));
    expect(await positions(journal)).toHaveLength(200);
    expect(syncs).toBeLessThanOrEqual(2);
  });
});

describe('crashes', () => {
  test('a crash within a line keeps the lines before, and drops that line', async () => {
    const first = await openIt();
    await first.append(order, 1, 1);
    await first.close();
    const whole = await readFile(await lastFile(), 'utf8');
    for (const cut of [1, 20, whole.length - 1]) {
      await writeFile(await lastFile(), whole + whole.slice(0, cut));
      const journal = await openIt();
      expect(await positions(journal)).toEqual([1]);
      await journal.append(order, 2, 2);
      expect(await positions(journal)).toEqual([1, 2]);
      await journal.close();
      await rm(await lastFile());
    }
  });

  test('an unreadable line in the middle is an error, or is skipped in a partial read', async () => {
    const first = await openIt();
    await first.append(order, 1, 1);
    await first.close();
    await appendFile(await lastFile(), 'what is this\n');
    const journal = await openIt();
    await expect(positions(journal)).rejects.toThrow(JournalDamaged);
    expect(await positions(journal, 0, true)).toEqual([1]);
  });
});

describe('disk failures', () => {
  const failing = (which: 'appendFile' | 'datasync') => {
    let fails = true;
    const openNew = async (path: string): Promise<Appendable> => {
      const handle = await open(path, 'ax');
      const now = fails;
      fails = false;
      const broken = { [which]: () => Promise.reject(new Error('EIO')) };
      return {
        appendFile: handle.appendFile.bind(handle),
        datasync: handle.datasync.bind(handle),
        close: handle.close.bind(handle),
        ...(now && broken),
      };
    };
    return openIt({ openNew });
  };

  test.each(['appendFile', 'datasync'] as const)(
    'after an error in %s no entry counts, and the next goes to another file',
    async (which) => {
      const journal = await failing(which);
      await expect(journal.append(order, 1, 1)).rejects.toThrow('EIO');
      await journal.append(order, 2, 2);
      expect(await files()).toHaveLength(2);
      expect(await positions(journal, 1)).toEqual([2]);
    },
  );

  test('while no file can be created, no entry is acknowledged', async () => {
    const journal = await openIt();
    await rm(folder, { recursive: true });
    await expect(journal.append(order, 1, 1)).rejects.toThrow('ENOENT');
    await mkdir(folder);
    await journal.append(order, 1, 2);
    expect(await positions(journal, 1)).toEqual([2]);
  });
});

describe('retention', () => {
  const age = async (name: string, days: number): Promise<void> => {
    const then = new Date(Date.now() - days * DAY_MS);
    await utimes(join(folder, name), then, then);
  };

  test('entries older than any backup are deleted, and the journal knows its new start', async () => {
    const journal = await openIt({ segmentBytes: 1 });
    for (const position of [1, 2, 3]) await journal.append(order, 1, position);
    expect(journal.floor()).toBe(0);
    for (const name of (await files()).slice(0, 2)) await age(name, 2);
    await journal.append(order, 1, 4);
    expect(await positions(journal)).toEqual([3, 4]);
    expect(journal.floor()).toBe(3);
    await journal.close();
    expect((await openIt()).floor()).toBe(3);
  });

  test('a full journal deletes old files early, but never the newest', async () => {
    const journal = await openIt({ segmentBytes: 1, maxBytes: 10 });
    for (const position of [1, 2, 3, 4]) await journal.append(order, 1, position);
    // Each file is checked when the next one begins.
    expect(await positions(journal)).toEqual([4]);
    expect(journal.floor()).toBe(4);
  });

  test('the last known positions of other executors survive', async () => {
    const journal = await openIt();
    await journal.remember(new Map([['other', 7]]));
    await journal.close();
    expect((await openIt()).seen()).toEqual(new Map([['other', 7]]));
  });
});

test('a journal that lost its name is not taken for a new one', async () => {
  const journal = await openIt();
  await journal.append(order, 1, 1);
  await journal.close();
  await rm(join(folder, 'journal.json'));
  await expect(makeJournal(folder)).rejects.toThrow('without its journal.json');
});
