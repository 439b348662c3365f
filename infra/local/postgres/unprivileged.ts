import { spawn } from 'node:child_process';
import { chown, stat } from 'node:fs/promises';
import { isMissing } from '../../credentials/keep.ts';
import { Problem } from '../problem.ts';
import { run } from '../run.ts';

/** How to run a program that refuses to run as root. */
export type RunAs = {
  readonly uid?: number;
  readonly gid?: number;
  readonly wrap: (command: string, args: readonly string[]) => readonly [string, readonly string[]];
  /** Gives a file or folder to the user of the server process. */
  readonly give: (path: string) => Promise<void>;
};

const asMyself: RunAs = { wrap: (command, args) => [command, args], give: async () => undefined };

type Account = { readonly uid: number; readonly gid: number; readonly name: string };

const accountOf = async (name: string): Promise<Account | undefined> => {
  try {
    const [uid, gid] = await Promise.all(
      ['-u', '-g'].map((flag) => run('id', [flag, name], { timeoutMs: 5_000 })),
    );
    return { uid: Number(uid), gid: Number(gid), name };
  } catch {
    return undefined;
  }
};

/** The present owner of the files, else an account that every system has. Creates no account. */
const chooseAccount = async (dataDir: string): Promise<Account> => {
  try {
    const { uid, gid } = await stat(dataDir);
    if (uid !== 0) return { uid, gid, name: `user ${uid}` };
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const account = (await accountOf('postgres')) ?? (await accountOf('nobody'));
  if (account === undefined) throw new Problem('PostgreSQL does not run as root: create the user `postgres`');
  return account;
};

const succeeds = (
  command: string,
  args: readonly string[],
  ids: { uid?: number; gid?: number },
): Promise<boolean> =>
  new Promise((resolve) => {
    const child = spawn(command, [...args], { ...ids, cwd: '/', stdio: 'ignore' });
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
  });

/**
 * Gives up root, but for one privilege. Without the secure bit the system would leave that privilege out of account when
 * a program asks whether it may read a file, as PostgreSQL does with its own program files.
 */
const withOne = (privilege: string, uid: number, gid: number) => {
  const ids = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--securebits=+no_setuid_fixup'];
  const caps = [`--inh-caps=-all,+${privilege}`, `--ambient-caps=-all,+${privilege}`];
  return (command: string, args: readonly string[]) =>
    ['setpriv', [...ids, ...caps, '--', command, ...args]] as const;
};

/** To walk through folders that are not its own; in a container that withholds that, to pass by file permissions. */
const PRIVILEGES = ['dac_read_search', 'dac_override'] as const;

/**
 * PostgreSQL refuses to run as root, so root starts it as an unprivileged user. That user cannot enter a clone under /root;
 * the server then keeps one privilege, so that /root can stay closed.
 */
export const unprivileged = async (dataDir: string, folder: string, program: string): Promise<RunAs> => {
  if (process.getuid?.() !== 0) return asMyself;
  const { uid, gid, name } = await chooseAccount(dataDir);
  const give = (path: string) => chown(path, uid, gid);
  const probe = ['-c', 'cd "$1" && "$2" --version', 'sh', folder, program] as const;
  if (await succeeds('/bin/sh', probe, { uid, gid }))
    return { uid, gid, give, wrap: (command, args) => [command, args] };
  for (const privilege of PRIVILEGES) {
    const wrap = withOne(privilege, uid, gid);
    if (await succeeds(...wrap('/bin/sh', probe), {})) return { give, wrap };
  }
  throw new Problem(
    `PostgreSQL does not run as root, and ${name} cannot get into ${folder}: clone to where others may enter, or start as an ordinary user`,
  );
};
