import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { systemClock } from '@holdpoint/runtime/service/system-clock';
import type { Environment } from './command-env.ts';
import {
  type Access,
  confinedArgv,
  type Confinement,
  gatedArgv,
  Uncoverable,
  UNCONFINED,
  type WorkUser,
} from './confinement.ts';
import { findCommand } from './find-command.ts';
import { type Launch, listenToLaunch } from './launch-listener.ts';
import { groupGone, signalGroup } from './process-group.ts';

export type OutputStream = 'stdout' | 'stderr';

export type GroupRequest = {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The complete environment. */
  readonly env: Environment;
  readonly stdin?: string | Uint8Array | undefined;
  readonly timeoutMs?: number | undefined;
  /** Time between SIGTERM and SIGKILL. */
  readonly graceMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with the group's id. The command begins once it has resolved, and never if it rejects. */
  readonly began?: ((group: number) => Promise<void>) | undefined;
  /** Left out: only a process group. */
  readonly confinement?: Confinement | undefined;
  /** What a confined command may write. Left out: nothing but temporary files. */
  readonly access?: Access | undefined;
  readonly onOutput: (stream: OutputStream, chunk: Buffer) => void;
};

/** How a command ended. Without an exit code it was killed by `signal`, or never began: then `problem` says why. */
export type GroupEnd = {
  readonly exitCode: number | undefined;
  readonly signal?: string;
  readonly problem?: string;
  readonly timedOut: boolean;
  readonly cancelled: boolean;
  readonly durationMs: number;
};

const GRACE_MS = 5_000;
/** A killed process is gone at once, unless it hangs in the kernel. */
const GONE_MS = 10_000;
/** A process that left the group may hold the output open forever. */
const DRAIN_MS = 2_000;

const notBegun = (problem: string, cancelled = false): GroupEnd => ({
  exitCode: undefined,
  problem,
  timedOut: false,
  cancelled,
  durationMs: 0,
});

const isFolder = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isDirectory() === true;

/**
 * Runs a command without a shell, in a process group of its own. When it ends, no process of the group is left. A
 * time limit and `signal` send SIGTERM first, and SIGKILL after a grace period.
 */
export const runGroup = async (request: GroupRequest): Promise<GroupEnd> => {
  const { argv, cwd, env, signal } = request;
  if (signal?.aborted === true) return notBegun('cancelled before it began', true);
  const [name = ''] = argv;
  if (!(await isFolder(cwd))) return notBegun(`no such folder: ${cwd}`);
  const executable = await findCommand(name, cwd, env['PATH']);
  if (executable === undefined) return notBegun(`command not found: ${JSON.stringify(name)}`);
  const { limit, launcher } = request.confinement ?? UNCONFINED;
  const whole = [executable, ...argv.slice(1)] as const;
  if (launcher === undefined) {
    const isGated = request.began !== undefined;
    return begin(gatedArgv(whole, limit, isGated), isGated ? 4 : 3, env, request);
  }
  // A mount namespace has a /tmp of its own.
  const temporary =
    launcher.namespaces === 'none'
      ? await realpath(await mkdtemp(join(tmpdir(), 'holdpoint-work-')))
      : undefined;
  try {
    const access = { write: [], ...request.access, cwd };
    const confined = await confinedArgv(whole, launcher, access, temporary);
    return await begin(
      confined,
      5,
      { ...env, ...asUser(launcher.user), TMPDIR: temporary ?? '/tmp' },
      request,
    );
  } catch (error) {
    if (error instanceof Uncoverable) return notBegun(error.message);
    throw error;
  } finally {
    if (temporary !== undefined) await removeAll(temporary);
  }
};

const asUser = (user: WorkUser | undefined): Environment =>
  user === undefined ? {} : { HOME: user.home, USER: user.name, LOGNAME: user.name };

/** A command may have taken away its own rights to a folder. */
const removeAll = async (folder: string): Promise<void> => {
  await rm(folder, { recursive: true, force: true }).catch(() => undefined);
};

const begin = async (
  [first, ...rest]: readonly [string, ...string[]],
  pipes: number,
  env: Environment,
  request: GroupRequest,
): Promise<GroupEnd> => {
  const stdio = Array.from({ length: pipes }, () => 'pipe' as const);
  try {
    return await follow(spawn(first, rest, { cwd: request.cwd, env, detached: true, stdio }), request);
  } catch (error) {
    // Such as arguments that are too long or contain a NUL.
    if (error instanceof Error && 'code' in error)
      return notBegun(`${request.argv[0] ?? ''} cannot be started: ${error.message}`);
    throw error;
  }
};

/** A command that does not read all of its input has not failed. */
const write = (stream: Writable, data: string | Uint8Array): void => {
  stream.on('error', () => undefined);
  stream.end(data);
};

type Ending = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

const exited = (child: ChildProcess): Promise<Ending> =>
  new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });

const streamClosed = (stream: Readable): Promise<void> =>
  new Promise((resolve) => {
    if (stream.closed) resolve();
    else stream.once('close', resolve);
  });

/** Resolves when all output is read, or when waiting for more is pointless. */
const drained = async (streams: readonly Readable[]): Promise<void> => {
  const giveUp = setTimeout(() => {
    for (const stream of streams) stream.destroy();
  }, DRAIN_MS);
  await Promise.all(streams.map(streamClosed));
  clearTimeout(giveUp);
};

const follow = async (child: ChildProcess, request: GroupRequest): Promise<GroupEnd> => {
  const began = performance.now();
  const ending = exited(child);
  ending.catch(() => undefined);
  const [input, stdout, stderr] = child.stdio;
  const gate = child.stdio[3] as Writable | undefined;
  const launch = child.stdio[4] ? listenToLaunch(child.stdio[4] as Readable) : undefined;
  if (!input || !stdout || !stderr) throw new Error('a process was started without its pipes');
  stdout.on('data', (chunk: Buffer) => request.onOutput('stdout', chunk));
  stderr.on('data', (chunk: Buffer) => request.onOutput('stderr', chunk));
  const group = child.pid;
  // Without a pid it was not started: `error` says why, and the wait for the end rejects.
  if (group === undefined) {
    await ending;
    throw new Error('a process without a pid has ended');
  }
  const graceMs = request.graceMs ?? GRACE_MS;
  let stopped: 'timed out' | 'cancelled' | undefined;
  let kill: NodeJS.Timeout | undefined;
  const stop = (why: 'timed out' | 'cancelled'): void => {
    if (stopped !== undefined) return;
    stopped = why;
    signalGroup(group, 'SIGTERM');
    kill = setTimeout(() => signalGroup(group, 'SIGKILL'), graceMs);
  };
  const cancel = (): void => stop('cancelled');
  const stopLimit =
    request.timeoutMs === undefined
      ? undefined
      : systemClock.after(request.timeoutMs, () => stop('timed out'));
  request.signal?.addEventListener('abort', cancel, { once: true });
  // It may have been aborted while the command was looked up.
  if (request.signal?.aborted === true) cancel();
  try {
    write(input, request.stdin ?? '');
    await letBegin(group, gate, launch !== undefined, request);
    const ended = await ending;
    // The rest of the group keeps its grace period, even if the first process ended at once.
    if (stopped !== undefined) await groupGone(group, graceMs, launch?.init());
    await endGroup(group);
    await drained(child.stdio.slice(1, 3).concat(child.stdio[4] ?? []) as Readable[]);
    const { exitCode, signal, problem } = endingOf(ended, launch);
    return {
      exitCode,
      ...(signal !== undefined && { signal }),
      ...(problem !== undefined && { problem }),
      timedOut: stopped === 'timed out',
      cancelled: stopped === 'cancelled',
      durationMs: Math.round(performance.now() - began),
    };
  } finally {
    stopLimit?.();
    clearTimeout(kill);
    gate?.destroy();
    request.signal?.removeEventListener('abort', cancel);
  }
};

/** The end of the command itself, behind the gate and the launcher. */
const endingOf = (
  { code, signal }: Ending,
  launch: Launch | undefined,
): Pick<GroupEnd, 'exitCode' | 'signal' | 'problem'> => {
  const problem = code === null ? undefined : launch?.problem(code);
  if (problem !== undefined) return { exitCode: undefined, problem: `cannot be confined: ${problem}` };
  return { exitCode: code ?? undefined, ...(signal !== null && { signal }) };
};

const letBegin = async (
  group: number,
  gate: Writable | undefined,
  isKept: boolean,
  { began }: GroupRequest,
): Promise<void> => {
  if (gate === undefined) return;
  try {
    await began?.(group);
  } catch (error) {
    gate.on('error', () => undefined);
    gate.destroy();
    await endGroup(group);
    throw error;
  }
  if (!isKept) return write(gate, 'begin\n');
  // Left open: the namespace ends when it closes.
  gate.on('error', () => undefined);
  gate.write('begin\n');
};

/** Kills the rest of a group. Resolves when it is gone. */
export const endGroup = async (group: number): Promise<void> => {
  if (!signalGroup(group, 'SIGKILL')) return;
  if (!(await groupGone(group, GONE_MS))) throw new Error(`process group ${String(group)} cannot be killed`);
};
