import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { TOKEN } from '@holdpoint/contracts/bus/subjects';
import { z } from 'zod';
import { replaceFile } from '../files/durable-file.ts';

/** The id of a journal, and the last known positions of the other executors. */
export const JournalName = z.object({
  id: z.string().regex(TOKEN),
  floor: z.int().min(0),
  seen: z.record(z.string(), z.int().min(0)),
});
export type JournalName = z.infer<typeof JournalName>;

const FILE = 'journal.json';

/** Readable for operators, and unique. */
const newId = (): string =>
  `${hostname()
    .replaceAll(/[^A-Za-z0-9-]/g, '-')
    .slice(0, 40)}-${randomBytes(6).toString('hex')}`;

/** Throws when an existing file cannot be read: under a new id the old entries would be lost. */
export const readName = async (folder: string): Promise<JournalName> => {
  const text = await readFile(join(folder, FILE), 'utf8');
  return JournalName.parse(JSON.parse(text));
};

/** Creates the folder of a new journal, unless it exists. */
export const makeJournal = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const names = await readdir(folder);
  if (names.includes(FILE)) return;
  if (names.some((name) => name.endsWith('.jsonl')))
    throw new Error(`${folder} contains a journal without its ${FILE}`);
  await replaceFile(join(folder, FILE), JSON.stringify({ id: newId(), floor: 0, seen: {} }));
};
