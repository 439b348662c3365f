import { readdir, readFile } from 'node:fs/promises';

/** One process in `/proc`. `start` is in ticks since boot: with the pid it identifies a process for good. */
export type ProcessEntry = {
  readonly pid: number;
  readonly group: number;
  readonly session: number;
  readonly start: string;
  /** A zombie. */
  readonly gone: boolean;
};

const parseStat = (pid: number, text: string): ProcessEntry | undefined => {
  // The name is in parentheses and may contain any character.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, , group, session] = fields;
  const start = fields[19];
  if (state === undefined || start === undefined) return undefined;
  return { pid, group: Number(group), session: Number(session), start, gone: /^[ZXx]/.test(state) };
};

/** Undefined without such a process, or without `/proc`. */
export const processEntry = async (pid: number): Promise<ProcessEntry | undefined> => {
  const text = await readFile(`/proc/${String(pid)}/stat`, 'latin1').catch(() => undefined);
  return text === undefined ? undefined : parseStat(pid, text);
};

/** Too many open files would make processes look dead. */
const AT_ONCE = 16;

/** Undefined without `/proc`. */
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

/** The value of a variable at the start of a process; undefined when it is not set, or not visible. */
export const startedWith = async (pid: number, name: string): Promise<string | undefined> => {
  const text = await readFile(`/proc/${String(pid)}/environ`, 'utf8').catch(() => '');
  const found = text.split('\0').find((entry) => entry.startsWith(`${name}=`));
  return found?.slice(name.length + 1);
};

/** The id of the current boot; empty if unknown. */
export const bootId = async (): Promise<string> =>
  (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')).trim();
