import { rm, writeFile } from 'node:fs/promises';
import { readIfPresent } from '../../credentials/keep.ts';
import { commandOf, isAlive } from './pid.ts';
import { poll } from '../poll.ts';

/** A process that was started, and a text that only its command line has: process numbers are used again. */
export type Entry = { readonly name: string; readonly pid: number; readonly marker: string };

const isEntry = (value: unknown): value is Entry => {
  const { name, pid, marker } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isProcess = typeof pid === 'number' && Number.isInteger(pid) && pid > 1;
  return isProcess && typeof name === 'string' && typeof marker === 'string' && marker !== '';
};

export type Registry = { readonly add: (entry: Entry) => Promise<void>; readonly clear: () => Promise<void> };

/** Records running processes, so that the next start can end them if this one is killed. */
export const createRegistry = (file: string): Registry => {
  const entries = new Map<string, Entry>();
  let written = Promise.resolve();
  const write = () => (written = written.then(() => writeFile(file, JSON.stringify([...entries.values()]))));
  return {
    add: (entry) => {
      entries.set(entry.name, entry);
      return write();
    },
    clear: async () => {
      await written;
      await rm(file, { force: true });
    },
  };
};

const ENDS_WITHIN_MS = 20_000;

const readEntries = async (file: string): Promise<readonly Entry[]> => {
  const text = await readIfPresent(file);
  if (text === undefined) return [];
  try {
    const entries: unknown = JSON.parse(text);
    return Array.isArray(entries) ? entries.filter(isEntry) : [];
  } catch {
    return []; // cut off by the same kill; what it would have named is found by its port being taken
  }
};

const runs = async ({ pid, marker }: Entry): Promise<boolean> =>
  isAlive(pid) && (await commandOf(pid)).includes(marker);

/** Ends the processes that a killed start left running. Returns their names. */
export const endLeftovers = async (file: string): Promise<readonly string[]> => {
  const ended: string[] = [];
  for (const entry of await readEntries(file)) {
    if (!(await runs(entry))) continue;
    process.kill(entry.pid, 'SIGTERM');
    ended.push(entry.name);
    await poll(async () => ((await runs(entry)) ? undefined : true), {
      timeoutMs: ENDS_WITHIN_MS,
      what: `${entry.name} (process ${entry.pid}) of a run before ends`,
    });
  }
  await rm(file, { force: true });
  return ended;
};
