import { readdir, readFile } from 'node:fs/promises';

/** One process, as `/proc` shows it. `start` is in ticks since the machine started: with the pid it names a process for good. */
export type ProcessEntry = {
  readonly pid: number;
  readonly group: number;
  readonly session: number;
  readonly start: string;
  /** Dead, and only waiting for its parent to take note. */
  readonly gone: boolean;
};

const parseStat = (pid: number, text: string): ProcessEntry | undefined => {
  // The name stands in parentheses and may hold any character, a parenthesis too.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, , group, session] = fields;
  const start = fields[19];
  if (state === undefined || start === undefined) return undefined;
  return { pid, group: Number(group), session: Number(session), start, gone: /^[ZXx]/.test(state) };
};

/** `undefined` when there is no such process, or no `/proc`. */
export const processEntry = async (pid: number): Promise<ProcessEntry | undefined> => {
  const text = await readFile(`/proc/${String(pid)}/stat`, 'latin1').catch(() => undefined);
  return text === undefined ? undefined : parseStat(pid, text);
};

/** A file that cannot be opened because too many are open would look like a process that is gone. */
const AT_ONCE = 16;

/** Every living process; `undefined` where there is no `/proc`. */
export const livingProcesses = async (): Promise<readonly ProcessEntry[] | undefined> => {
  const names = await readdir('/proc').catch(() => []);
  const pids = names.filter((name) => /^[0-9]+$/.test(name)).map(Number);
  if (pids.length === 0) return undefined;
  const living: ProcessEntry[] = [];
  for (let from = 0; from < pids.length; from += AT_ONCE) {
    const entries = await Promise.all(pids.slice(from, from + AT_ONCE).map(processEntry));
    for (const entry of entries) if (entry !== undefined && !entry.gone) living.push(entry);
  }
  return living;
};

/** The value of a variable that a process was started with; `undefined` when it has none, or it may not be seen. */
export const startedWith = async (pid: number, name: string): Promise<string | undefined> => {
  const text = await readFile(`/proc/${String(pid)}/environ`, 'utf8').catch(() => '');
  const found = text.split('\0').find((entry) => entry.startsWith(`${name}=`));
  return found?.slice(name.length + 1);
};

/** Differs from one start of the machine to the next; empty where it cannot be told. */
export const bootId = async (): Promise<string> =>
  (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')).trim();
