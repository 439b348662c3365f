import { readdir, readFile } from 'node:fs/promises';

/** Clock ticks per second in `/proc`: 100 on every Linux that Node.js supports. */
const TICKS = 100;

/** The process whose command line contains every text, also inside a container on this machine. */
export const findProcess = async (...texts: readonly string[]): Promise<number | undefined> => {
  const found = await Promise.all(
    (await allPids()).map(async (pid) => {
      const command = await readFile(`/proc/${String(pid)}/cmdline`, 'utf8').catch(() => '');
      return command.startsWith('docker') || !texts.every((text) => command.includes(text)) ? undefined : pid;
    }),
  );
  return found.find((pid) => pid !== undefined);
};

const allPids = async (): Promise<readonly number[]> =>
  (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);

type Stat = { readonly pid: number; readonly parent: number; readonly seconds: number };

const statOf = async (pid: number): Promise<Stat | undefined> => {
  const text = await readFile(`/proc/${String(pid)}/stat`, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  // The name in parentheses may contain anything; the fields after it are numbers.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [utime = 0, stime = 0, cutime = 0, cstime = 0] = fields.slice(11, 15);
  return { pid, parent: fields[1] ?? 0, seconds: (utime + stime + cutime + cstime) / TICKS };
};

const readStats = async (): Promise<readonly Stat[]> =>
  (await Promise.all((await allPids()).map(statOf))).filter((stat) => stat !== undefined);

/** A process and its descendants. */
const treeOf = (stats: readonly Stat[], root: number): readonly Stat[] =>
  stats.flatMap((stat) => {
    if (stat.pid === root) return [stat];
    return stat.parent === root ? treeOf(stats, stat.pid) : [];
  });

/** CPU seconds of each named process and its descendants, including ended ones. Linux only. */
export const cpuSeconds = async (
  named: Readonly<Record<string, number>>,
): Promise<Readonly<Record<string, number>>> => {
  const stats = await readStats();
  const secondsOf = (pid: number): number =>
    treeOf(stats, pid).reduce((sum, { seconds }) => sum + seconds, 0);
  return Object.fromEntries(Object.entries(named).map(([name, pid]) => [name, secondsOf(pid)]));
};

/** Resident memory in bytes: now and at its peak. Linux only. */
export const memoryOf = async (pid: number): Promise<{ readonly now: number; readonly most: number }> => {
  const text = await readFile(`/proc/${String(pid)}/status`, 'utf8');
  const bytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? Number.NaN) * 1_024;
  return { now: bytes('VmRSS'), most: bytes('VmHWM') };
};

/** Memory in bytes, where pages that several processes map count in parts. Linux only; one's own processes, or as root. */
export const shareOf = async (pid: number): Promise<number> => {
  const text = await readFile(`/proc/${String(pid)}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? Number.NaN) * 1_024;
};

/** The memory of a process and of its descendants, as {@link shareOf} counts it. */
export const shareOfTree = async (root: number): Promise<number> => {
  const tree = treeOf(await readStats(), root);
  // A descendant may have ended since.
  const shares = await Promise.all(tree.map(({ pid }) => shareOf(pid).catch(() => 0)));
  return shares.reduce((sum, each) => sum + each, 0);
};
