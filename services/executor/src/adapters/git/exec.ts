import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../process/command-env.ts';
import { type GroupEnd, runGroup } from '../process/run-group.ts';
import { GitError, GitStopped } from './git-error.ts';
import { type ConfigEntry, gitEnv, overridesFor, parseConfig } from './hardening.ts';

/** Recently read configurations, by folder. Clear it before anything else runs. */
export type ConfigMemo = Map<string, { readonly entries: readonly ConfigEntry[]; readonly at: number }>;

/** Options of every git command of a step. */
export type GitParts = {
  /** The environment of commands. It marks the step, so that leftover processes can be found. */
  readonly env: Environment;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** Left out: the configuration is read before every command. */
  readonly memo?: ConfigMemo | undefined;
};

export type GitResult = { readonly exitCode: number; readonly stdout: Buffer; readonly stderr: string };

export type GitOptions = {
  readonly stdin?: string | Uint8Array | undefined;
  /** Exit codes that do not throw. Left out: only 0. */
  readonly answers?: readonly number[];
  readonly env?: Environment;
};

const MEMO_MS = 1_000;
const TIMEOUT_MS = 10 * 60_000;
/** A larger output is an error. */
const OUTPUT_MAX = 64 * 1_048_576;
const SAID_MAX = 1_000;

/** Another process has locked the repository for a moment, or writes the files of a new worktree. */
const isLocked = (stderr: string): boolean =>
  stderr
    .split('\n')
    .some(
      (line) =>
        (line.includes(': File exists') &&
          (line.includes("Unable to create '") || line.includes('cannot lock ref '))) ||
        /failed to read .*\/commondir: Success/.test(line),
    );
const LOCKED_TRIES = 12;
const LOCKED_PAUSE_MS = 50;
const LOCKED_PAUSE_MAX_MS = 1_000;

const once = async (
  argv: readonly string[],
  cwd: string,
  env: Environment,
  { signal, timeoutMs = TIMEOUT_MS }: GitParts,
  stdin: string | Uint8Array | undefined,
): Promise<GitResult> => {
  const kept = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  let bytes = 0;
  const tooMuch = new AbortController();
  const end = await runGroup({
    argv: ['git', '--no-pager', ...argv],
    cwd,
    // Without a repository in the folder, git must not find one further up.
    env: { ...env, GIT_CEILING_DIRECTORIES: dirname(cwd) },
    stdin,
    timeoutMs,
    signal: signal === undefined ? tooMuch.signal : AbortSignal.any([signal, tooMuch.signal]),
    onOutput: (stream, chunk) => {
      bytes += chunk.length;
      if (bytes <= OUTPUT_MAX) kept[stream].push(chunk);
      else tooMuch.abort();
    },
  });
  const stderr = Buffer.concat(kept.stderr).toString('utf8');
  return { exitCode: exitCodeOf(argv, end, stderr, bytes), stdout: Buffer.concat(kept.stdout), stderr };
};

const exitCodeOf = (
  [command = '']: readonly string[],
  end: GroupEnd,
  stderr: string,
  bytes: number,
): number => {
  if (bytes > OUTPUT_MAX)
    throw new GitError(command, undefined, `more than ${String(OUTPUT_MAX)} bytes of output`);
  if (end.cancelled) throw new GitStopped(`git ${command}: cancelled`);
  if (end.timedOut) throw new GitStopped(`git ${command}: timed out`);
  if (end.problem !== undefined) throw new GitError(command, undefined, end.problem);
  if (end.exitCode === undefined)
    throw new GitError(command, undefined, `killed by ${String(end.signal)}: ${saidIn(stderr)}`);
  return end.exitCode;
};

const saidIn = (stderr: string): string => {
  const said = stderr.replaceAll('\0', '\uFFFD').trim();
  return said.length > SAID_MAX ? `...${said.slice(-SAID_MAX)}` : said;
};

export type GitExec = {
  /** The effective configuration. */
  readonly config: () => Promise<readonly ConfigEntry[]>;
  readonly run: (argv: readonly string[], options?: GitOptions) => Promise<GitResult>;
  readonly text: (argv: readonly string[], options?: GitOptions) => Promise<string>;
  /** Items of a command that was run with `-z`. */
  readonly list: (argv: readonly string[], options?: GitOptions) => Promise<readonly string[]>;
};

/** Runs git in a folder, without a shell, and with every configured program disabled. */
export const createGitExec = (cwd: string, parts: GitParts): GitExec => {
  const config = async (): Promise<readonly ConfigEntry[]> => {
    const known = parts.memo?.get(cwd);
    if (known !== undefined && performance.now() - known.at < MEMO_MS) return known.entries;
    const at = performance.now();
    const argv = ['config', '--list', '-z', '--includes'];
    const listed = await once(argv, cwd, gitEnv(parts.env), parts, undefined);
    if (listed.exitCode !== 0) throw new GitError('config', listed.exitCode, saidIn(listed.stderr));
    const entries = parseConfig(listed.stdout.toString('utf8'));
    parts.memo?.set(cwd, { entries, at });
    return entries;
  };

  const run = async (argv: readonly string[], options: GitOptions = {}): Promise<GitResult> => {
    const { stdin, answers = [0], env = {} } = options;
    const whole = { ...gitEnv(parts.env, overridesFor(await config())), ...env };
    let pause = LOCKED_PAUSE_MS;
    for (let tries = 1; ; tries += 1) {
      const result = await once(argv, cwd, whole, parts, stdin);
      if (answers.includes(result.exitCode)) return result;
      if (tries >= LOCKED_TRIES || !isLocked(result.stderr))
        throw new GitError(argv[0] ?? '', result.exitCode, saidIn(result.stderr));
      await sleep(pause);
      pause = Math.min(pause * 2, LOCKED_PAUSE_MAX_MS);
    }
  };
  return {
    config,
    run,
    text: async (argv, options) => (await run(argv, options)).stdout.toString('utf8').replace(/\n$/, ''),
    list: async (argv, options) =>
      (await run(argv, options)).stdout
        .toString('utf8')
        .split('\0')
        .filter((entry) => entry !== ''),
  };
};
