import { readdir, readFile } from 'node:fs/promises';
import type { Deployment } from '../deployment/deployment.ts';
import { BOUNDS, type Seen } from './measurements.ts';

const memory = (who: string, value: number): Seen => ({
  name: `memory of ${who}`,
  unit: 'bytes',
  bound: BOUNDS.memory,
  value,
});
const handles = (who: string, value: number): Seen => ({
  name: `open files of ${who}`,
  unit: 'handles',
  bound: BOUNDS.handles,
  value,
});

export const lookAtServices = async ({ usage }: Pick<Deployment, 'usage'>): Promise<readonly Seen[]> =>
  (await usage())
    .toSorted((a, b) => (a.instance < b.instance ? -1 : 1))
    .flatMap(({ instance, rssBytes, openFiles }) => [
      memory(instance, rssBytes),
      handles(instance, openFiles),
    ]);

type Process = { readonly pid: string; readonly parent: string; readonly command: string };

/** Undefined when the process has exited. */
const readProcess = async (pid: string): Promise<Process | undefined> => {
  try {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8');
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    const parent = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? '';
    return { pid, parent, command };
  } catch {
    return undefined;
  }
};

/** Private memory: shared buffers of PostgreSQL would count once per process. */
const ownBytes = async ({ pid }: Process): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024;
};
const openFiles = async ({ pid }: Process): Promise<number> =>
  (await readdir(`/proc/${pid}/fd`).catch(() => [])).length;

const sum = async (
  processes: readonly Process[],
  of: (process: Process) => Promise<number>,
): Promise<number> => (await Promise.all(processes.map(of))).reduce((total, each) => total + each, 0);

/** NATS and PostgreSQL processes on this machine, if there are any. */
export const lookAtServers = async (folder: string): Promise<readonly Seen[]> => {
  if (process.platform !== 'linux') return [];
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const all = (await Promise.all(pids.map(readProcess))).filter((each) => each !== undefined);
  const nats = all.find(
    ({ command }) => /^[^\0]*nats-server\0/.test(command) && command.includes(`${folder}/`),
  );
  const main = all.find(({ command }) => /^[^\0]*postgres\0/.test(command) && command.includes(`${folder}/`));
  const postgres = main === undefined ? [] : [main, ...all.filter(({ parent }) => parent === main.pid)];
  return [
    ...(nats === undefined
      ? []
      : [memory('nats', await ownBytes(nats)), handles('nats', await openFiles(nats))]),
    ...(postgres.length === 0
      ? []
      : [
          memory('postgres', await sum(postgres, ownBytes)),
          // Open files depend on what each process has read, and the number of processes on the clients.
          {
            name: 'processes of postgres',
            unit: 'handles',
            bound: BOUNDS.handles,
            value: postgres.length,
          } as const,
        ]),
  ];
};
