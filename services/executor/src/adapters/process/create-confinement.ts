import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { constrainedMemory } from 'node:process';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@holdpoint/runtime/service/config';
import type { Environment } from './command-env.ts';
import type { Confinement, Launcher, WorkUser } from './confinement.ts';
import { findCommand } from './find-command.ts';
import { type CommandLimits, limitArgs, limitKeys } from './limits.ts';
import { type CommandResult, runCommand, scriptArgv } from './run-command.ts';

export type ConfinementParts = {
  readonly limits: CommandLimits;
  readonly env: Environment;
  /** The executor's own folder, hidden from commands. */
  readonly state: string;
  readonly network: boolean;
  readonly user?: WorkUser | undefined;
  readonly hidden: readonly string[];
  readonly shown: readonly string[];
  readonly writable: readonly string[];
};

export type Protection = {
  readonly confinement: Confinement;
  /** Empty, or why commands cannot be kept from the executor's secrets here. */
  readonly problem?: string | undefined;
  /** Known gaps on this machine, for operators. */
  readonly gaps: readonly string[];
};

const TRIAL_MS = 20_000;
/** An exit code that neither a shell nor the launcher uses. */
const AS_EXPECTED = 42;
/**
 * It must not read a file of the executor's folder, write there, or see the executor's environment; and it must be able
 * to write its own folder.
 */
const TRIAL = `grep -q . "$1/canary" 2>/dev/null && echo 'a hidden file can be read' >&2 && exit 1
{ echo x > "$1/written"; } 2>/dev/null
[ "$4" != none ] || ! cat "/proc/$3/environ" >/dev/null 2>&1 || { echo "the executor's memory can be read" >&2; exit 1; }
[ "$4" = none ] || { [ -d /proc/1 ] && [ "$(ls -d /proc/[0-9]* | wc -l)" -lt 12 ]; } || { echo 'other processes can be seen' >&2; exit 1; }
echo x > "$2/written" || exit 1
exit ${String(AS_EXPECTED)}`;

const isRoot = process.geteuid?.() === 0;
const LANDLOCK = 'print syscall(444, 0, 0, 1)';
/** Without REFER, files could not be renamed between folders. */
const LANDLOCK_MIN = 2;

/** The message of the process itself names the cause. */
const saidOf = ({ stderr, problem, exitCode, signal }: CommandResult): string => {
  const said = stderr.trim();
  return said === '' ? (problem ?? `it ended with ${String(exitCode ?? signal)}`) : said;
};

/** Half of the memory of this machine, or of its container. */
export const memoryDefault = (): number => {
  const limit = constrainedMemory();
  return Math.floor((limit > 0 ? Math.min(limit, totalmem()) : totalmem()) / 2);
};

/** Runs a command that tries to break out. Exit code 42: it could not. */
export const tryOut = async (
  launcher: Launcher,
  { state, env }: Pick<ConfinementParts, 'state' | 'env'>,
): Promise<CommandResult> => {
  const folder = await mkdtemp(join(state, 'trial-'));
  const own = join(folder, 'own');
  try {
    await mkdir(own);
    await writeFile(join(folder, 'canary'), 'seen\n');
    const result = await runCommand({
      argv: [...scriptArgv(TRIAL), 'sh', folder, own, String(process.pid), launcher.namespaces],
      cwd: own,
      env,
      timeoutMs: TRIAL_MS,
      confinement: { limit: [], launcher },
      access: { write: [own] },
    });
    // In a private folder of the same name nothing is written.
    const isWritten = existsSync(join(folder, 'written'));
    return isWritten ? { ...result, exitCode: 1, stderr: 'a hidden folder can be written' } : result;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** What to leave out after a failure: the parts that a kernel may lack. */
const withoutPart = (launcher: Launcher, problem: string): Launcher | undefined => {
  if (launcher.home !== undefined && /\b(?:home folder|changes of|owner of)\b/.test(problem))
    return { ...launcher, home: undefined };
  if (launcher.landlock > 0 && launcher.namespaces !== 'none' && /\b(?:landlock|rule for)\b/.test(problem))
    return { ...launcher, landlock: 0 };
  return undefined;
};

type Tried = { readonly launcher?: Launcher; readonly problem?: string };

const firstThatWorks = async (candidates: readonly Launcher[], parts: ConfinementParts): Promise<Tried> => {
  const problems: string[] = [];
  const left = [...candidates];
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    const result = await tryOut(next, parts);
    if (result.exitCode === AS_EXPECTED) return { launcher: next };
    const problem = saidOf(result);
    const less = withoutPart(next, problem);
    if (less === undefined) problems.push(problem);
    else left.unshift(less);
  }
  return { problem: problems.join('; ') };
};

const candidatesFor = (perl: string, landlock: number, parts: ConfinementParts): readonly Launcher[] => {
  const { network, user, shown, writable, limits, env, state } = parts;
  const hidden = [...new Set([...parts.hidden, state])];
  const common = { perl, landlock, network, user, hidden, shown, writable, limits: limitKeys(limits) };
  const home = user?.home ?? env['HOME'];
  const apart: Launcher = {
    ...common,
    landlock: landlock < LANDLOCK_MIN ? 0 : landlock,
    namespaces: isRoot ? 'root' : 'user',
    ...(home !== undefined && !/[:,\\]/.test(home) && home !== '/' && { home }),
  };
  // Another user cannot write the executor's worktrees without a mount of its own.
  const together: readonly Launcher[] =
    landlock > 0 && user === undefined ? [{ ...common, namespaces: 'none' }] : [];
  return [apart, ...together];
};

const gapsOf = ({ namespaces, landlock, network, user }: Launcher): readonly string[] => [
  ...(namespaces === 'none'
    ? ['sockets in the file system', ...(landlock < 6 ? ["signals to the executor's processes"] : [])]
    : []),
  ...(user === undefined ? [`other files of ${isRoot ? 'root' : "the executor's user"}`] : []),
  ...(network ? ['the network'] : []),
];

/** Throws when configured limits cannot be applied: the operator relies on them. */
const limitFor = async ({ limits, env }: ConfinementParts): Promise<readonly string[]> => {
  const args = limitArgs(limits);
  if (args.length === 0) return [];
  const prlimit = await findCommand('prlimit', '/', env['PATH']);
  if (prlimit === undefined)
    throw new ConfigError('HOLDPOINT_PROCESS_*: limits need prlimit: install util-linux');
  return [prlimit, ...args, '--'];
};

/** Commands in process groups only. They can read whatever the executor can. */
export const unconfined = async (parts: ConfinementParts): Promise<Protection> => ({
  confinement: { limit: await limitFor(parts) },
  gaps: ["the executor's secrets, journal and processes"],
});

/**
 * The strongest confinement of commands on this machine. Every candidate runs a command that tries to break out, because
 * containers and kernels differ.
 */
export const createConfinement = async (parts: ConfinementParts): Promise<Protection> => {
  if (parts.limits.processes !== undefined && isRoot && parts.user === undefined)
    throw new ConfigError(
      'HOLDPOINT_PROCESS_MAX_PROCESSES: root ignores this limit; set HOLDPOINT_WORK_USER',
    );
  const perl = await findCommand('perl', '/', parts.env['PATH']);
  const isLinux = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch);
  const none = { confinement: { limit: [] }, gaps: [] };
  if (!isLinux) return { ...none, problem: 'it needs Linux on x64 or arm64' };
  if (perl === undefined) return { ...none, problem: 'perl not found: install perl' };
  const asked = await runCommand({
    argv: [perl, '-e', LANDLOCK],
    cwd: '/',
    env: parts.env,
    timeoutMs: TRIAL_MS,
  });
  const landlock = Math.max(0, Number(asked.stdout) || 0);
  const { launcher, problem } = await firstThatWorks(candidatesFor(perl, landlock, parts), parts);
  if (launcher === undefined) return { ...none, problem: problem ?? 'no way was found' };
  return { confinement: { limit: [], launcher }, gaps: gapsOf(launcher) };
};
