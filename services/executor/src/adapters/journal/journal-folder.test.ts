import { join } from 'node:path';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { holdLock } from '../../../testing/lock-holder.ts';
import { scratchFolder } from '../../../testing/scratch.ts';
import { type HeldJournal, type Journals, journalsIn } from './journal-folder.ts';

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
let journals: Journals;
const held: HeldJournal[] = [];
beforeEach(async () => {
  scratch = await scratchFolder();
  journals = journalsIn(join(scratch.path, 'journal'), { keepMs: 1e9, maxBytes: 1e9 }, silentLogger());
});
afterEach(async () => {
  for (const journal of held.splice(0)) await journal.release();
  await scratch.remove();
});
const take = async (): Promise<HeldJournal> => {
  const journal = await journals.take();
  held.push(journal);
  return journal;
};
const release = async (journal: HeldJournal): Promise<void> => {
  held.splice(held.indexOf(journal), 1);
  await journal.release();
};

test('two executors never write the same journal', async () => {
  const [one, two] = [await take(), await take()];
  expect(one.id).not.toBe(two.id);
});

test('a restarted executor gets its own journal back', async () => {
  const first = await take();
  await release(first);
  expect((await take()).id).toBe(first.id);
});

test('free journals can be taken by any executor, and held ones cannot', async () => {
  const [one, two, three] = [await take(), await take(), await take()];
  await release(two);
  const left = await journals.takeLeft();
  held.push(...left);
  expect(left.map(({ id }) => id)).toEqual([two.id]);
  expect([one.id, three.id]).not.toContain(two.id);
});

test('a journal of another process stays held until that process is gone', async () => {
  const first = await take();
  await release(first);
  const other = await holdLock(join(scratch.path, 'journal', '1', 'journal'));
  try {
    expect(await journals.takeLeft()).toEqual([]);
    expect((await take()).id).not.toBe(first.id);
  } finally {
    await other.kill();
  }
  const left = await journals.takeLeft();
  held.push(...left);
  expect(left.map(({ id }) => id)).toEqual([first.id]);
});
