import { readdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isWithin } from '../files/real-path.ts';

/** How commands are kept apart: see `createConfinement`. Plain data, with absolute real paths. */
export type Confinement = {
  /** A prefix that applies the limits of a command without a launcher; empty without any. */
  readonly limit: readonly string[];
  /** Left out: commands have only a process group. */
  readonly launcher?: Launcher | undefined;
};

/** The user that runs commands, if it is another one than the executor's. */
export type WorkUser = {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
  readonly home: string;
};

/** The parts of the protection that this machine has: see `confine.pl`. */
export type Launcher = {
  readonly perl: string;
  /** Namespaces of processes, mounts and IPC: made by root, inside a user namespace, or not possible here. */
  readonly namespaces: 'root' | 'user' | 'none';
  /** Version of Landlock's interface; 0 without. */
  readonly landlock: number;
  /** Whether commands may use the network. */
  readonly network: boolean;
  /** `<resource>:<soft>:<hard>` of setrlimit(2). */
  readonly limits: readonly string[];
  /** Files and folders that commands cannot see. */
  readonly hidden: readonly string[];
  /** Places in hidden folders that commands need. */
  readonly shown: readonly string[];
  /** Folders that every command may write. */
  readonly writable: readonly string[];
  /** The home folder whose changes are dropped at the end; left out: it is read-only. */
  readonly home?: string | undefined;
  readonly user?: WorkUser | undefined;
};

/** The folders of one command. */
export type Access = {
  readonly write: readonly string[];
  /** Read-only places in those folders. Without a mount namespace they are writable. */
  readonly keep?: readonly string[] | undefined;
  /** An approved effect uses the network, whatever the pool allows to work. */
  readonly network?: boolean | undefined;
};

/** A process with a group of its own, and no limits. */
export const UNCONFINED: Confinement = { limit: [] };

/** A command with write access to a folder could uncover hidden places in it for the next command. */
export class Uncoverable extends Error {
  override readonly name = 'Uncoverable';
}

const CONFINE = join(import.meta.dirname, 'confine.pl');

// The id of the group must be on the disk before the command begins: otherwise a crash could leave an unknown process.
// A shell waits for a line on descriptor 3, and then becomes the command; without the line it exits.
const GATE = 'read -r word <&3 || exit 125; exec 3<&-; exec "$@"';

type Argv = readonly [string, ...string[]];

/** The command line that runs `argv` without a launcher. With a gate it begins after a line on descriptor 3. */
export const gatedArgv = (argv: Argv, limit: readonly string[], gated: boolean): Argv => {
  const [first = argv[0], ...rest] = [...limit, ...argv];
  return gated ? ['/bin/sh', '-c', GATE, 'sh', first, ...rest] : [first, ...rest];
};

/**
 * The existing places that together are all but the hidden ones: Landlock knows only what is allowed. A folder with
 * something hidden in it is replaced by its other entries.
 */
export const visibleBeside = async (hidden: readonly string[], folder = '/'): Promise<readonly string[]> => {
  const inside = hidden.filter((path) => isWithin(folder, path));
  if (inside.length === 0) return [folder];
  if (inside.includes(folder)) return [];
  const names = await readdir(folder).catch(() => []);
  const all = await Promise.all(names.map((name) => visibleBeside(inside, join(folder, name))));
  return all.flat();
};

/** The command line of the launcher for one command. `temporary` is its private folder where /tmp cannot be one. */
export const confinedArgv = async (
  argv: Argv,
  launcher: Launcher,
  { cwd, write, keep = [], network = false }: Access & { readonly cwd: string },
  temporary: string | undefined,
): Promise<Argv> => {
  const { perl, namespaces, landlock, user } = launcher;
  const isOn = network || launcher.network;
  const open = launcher.hidden.find((path) => write.some((folder) => isWithin(folder, path)));
  if (open !== undefined)
    throw new Uncoverable(`the working folder contains ${open}, which work must not see`);
  const key = (name: string, values: readonly (string | number)[]): readonly string[] =>
    values.map((value) => `${name}=${String(value)}`);
  const shown = [...launcher.shown, ...[cwd, ...keep].filter((path) => !write.includes(path))];
  const apart = [
    'ns=1',
    ...(namespaces === 'user' ? ['user=1'] : []),
    ...key('home', launcher.home === undefined ? [] : [launcher.home]),
    ...key('hide', launcher.hidden),
    ...key('show', shown),
  ];
  const together = [
    ...key('read', [...(await visibleBeside(launcher.hidden)), ...shown]),
    ...(isOn ? [] : ['seccomp=1']),
  ];
  return [
    perl,
    CONFINE,
    `arch=${process.arch}`,
    `landlock=${String(landlock)}`,
    `network=${isOn ? 'on' : 'off'}`,
    `cwd=${cwd}`,
    ...(namespaces === 'none' ? together : apart),
    ...key('write', [
      ...new Set([...write, ...launcher.writable, ...(temporary === undefined ? [] : [temporary])]),
    ]),
    ...key('limit', launcher.limits),
    ...(user === undefined
      ? []
      : [`uid=${String(user.uid)}`, `gid=${String(user.gid)}`, ...key('group', user.groups)]),
    '--',
    ...argv,
  ];
};

/** Folders that hold nothing but secrets are hidden whole; of a folder that work needs, only the file. */
export const hiddenFor = async (
  files: readonly string[],
  needed: readonly string[],
): Promise<readonly string[]> => {
  const places = await Promise.all(
    files.map(async (file) => [file, await realpath(file).catch(() => file)] as const),
  );
  const hidden = places.flat().map((file) => {
    const folder = dirname(file);
    return needed.some((path) => isWithin(folder, path)) ? file : folder;
  });
  return [...new Set(hidden)];
};
