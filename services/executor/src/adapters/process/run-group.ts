import { type ChildProcess, spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import type { Environment } from './command-env.ts';
import { type Confinement, launchOf, UNCONFINED } from './confinement.ts';
import { findProgram } from './find-command.ts';
import { type Keeper, listenToKeeper } from './keeper.ts';
import { groupGone, signalGroup } from './process-group.ts';

export type OutputStream = 'stdout' | 'stderr';

export type GroupRequest = {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** All of it: nothing of the executor's own environment comes along. */
  readonly env: Environment;
  readonly stdin?: string | Uint8Array | undefined;
  readonly timeoutMs?: number | undefined;
  /** What is told to end may take so long to do so. */
  readonly graceMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with the group's id before the program may do anything; it begins once that has resolved, and never if it fails. */
  readonly began?: ((group: number) => Promise<void>) | undefined;
  /** Without it the program is bounded by its process group alone. */
  readonly confinement?: Confinement | undefined;
  readonly onOutput: (stream: OutputStream, chunk: Buffer) => void;
};

/** How a program ended. Without an exit code it was killed by `signal`, or never began: then `problem` says why. */
export type GroupEnd = {
  readonly exitCode: number | undefined;
  readonly signal?: string;
  readonly problem?: string;
  readonly timedOut: boolean;
  readonly cancelled: boolean;
  readonly durationMs: number;
};

const GRACE_MS = 5_000;
/** What is killed is gone at once, unless it hangs in the kernel. */
const GONE_MS = 10_000;
/** A program that left the group may hold the output open for ever. */
const DRAIN_MS = 2_000;
const TIMER_MAX_MS = 2 ** 31 - 1;

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
 * Runs a program without a shell, in a process group of its own. When it ends, by itself or not, nothing of the group is
 * left: what a time limit or `signal` ends is told so first (SIGTERM), and killed after a grace.
 */
export const runGroup = async (request: GroupRequest): Promise<GroupEnd> => {
  const { argv, cwd, env, signal } = request;
  if (signal?.aborted === true) return notBegun('cancelled before it began', true);
  const [name = ''] = argv;
  if (!(await isFolder(cwd))) return notBegun(`there is no folder ${cwd} to run ${name} in`);
  const program = await findProgram(name, cwd, env['PATH']);
  if (program === undefined) return notBegun(`there is no program ${JSON.stringify(name)}`);
  const confinement = request.confinement ?? UNCONFINED;
  const isKept = confinement.namespace !== undefined;
  // What has a namespace waits for the word in any case: the line that brings it also says that the executor lives.
  const isGated = isKept || request.began !== undefined;
  const [first, ...rest] = launchOf([program, ...argv.slice(1)], confinement, isGated);
  const stdio: 'pipe'[] = ['pipe', 'pipe', 'pipe'];
  if (isGated) stdio.push('pipe');
  if (isKept) stdio.push('pipe');
  try {
    return await follow(spawn(first, rest, { cwd, env, detached: true, stdio }), request);
  } catch (error) {
    // What the system refuses to start, such as arguments that are too long or hold a NUL.
    if (error instanceof Error && 'code' in error)
      return notBegun(`${name} cannot be started: ${error.message}`);
    throw error;
  }
};

/** The other end may close first: whoever does not read to the end has not failed for that. */
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

/** Resolves when all output has been read, or when waiting for more of it has no point. */
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
  const keeper = child.stdio[4] ? listenToKeeper(child.stdio[4] as Readable) : undefined;
  if (!input || !stdout || !stderr) throw new Error('a program was started without its pipes');
  stdout.on('data', (chunk: Buffer) => request.onOutput('stdout', chunk));
  stderr.on('data', (chunk: Buffer) => request.onOutput('stderr', chunk));
  const group = child.pid;
  // Without a pid it was not started; then `error` says why, and the wait for the end fails.
  if (group === undefined) {
    await ending;
    throw new Error('a program without a pid has ended');
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
  const limit =
    request.timeoutMs === undefined
      ? undefined
      : setTimeout(() => stop('timed out'), Math.min(request.timeoutMs, TIMER_MAX_MS));
  request.signal?.addEventListener('abort', cancel, { once: true });
  // It may have come while the program was looked for.
  if (request.signal?.aborted === true) cancel();
  try {
    write(input, request.stdin ?? '');
    await letBegin(group, gate, keeper !== undefined, request);
    const ended = await ending;
    // What was told to end has its grace, though the first of the group ended at once.
    if (stopped !== undefined) await groupGone(group, graceMs, keeper?.pid());
    await endGroup(group);
    await drained(child.stdio.slice(1, 3).concat(child.stdio[4] ?? []) as Readable[]);
    const { exitCode, signal, problem } = endingOf(ended, keeper);
    return {
      exitCode,
      ...(signal !== undefined && { signal }),
      ...(problem !== undefined && { problem }),
      timedOut: stopped === 'timed out',
      cancelled: stopped === 'cancelled',
      durationMs: Math.round(performance.now() - began),
    };
  } finally {
    clearTimeout(limit);
    clearTimeout(kill);
    gate?.destroy();
    request.signal?.removeEventListener('abort', cancel);
  }
};

/** How the program ended, in spite of what stands between. */
const endingOf = (
  { code, signal }: Ending,
  keeper: Keeper | undefined,
): Pick<GroupEnd, 'exitCode' | 'signal' | 'problem'> => {
  if (keeper?.wasKilled() === true) return { exitCode: undefined, signal: 'SIGKILL' };
  const problem = code === null ? undefined : keeper?.problem(code);
  if (problem !== undefined)
    return { exitCode: undefined, problem: `its namespace cannot be made: ${problem}` };
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
    // It has not begun, and never will.
    gate.on('error', () => undefined);
    gate.destroy();
    await endGroup(group);
    throw error;
  }
  if (!isKept) return write(gate, 'begin\n');
  // Left open: that it closes is how a namespace learns that nobody follows it any more.
  gate.on('error', () => undefined);
  gate.write('begin\n');
};

/** Kills what is left of a group, and comes back when it is gone. */
export const endGroup = async (group: number): Promise<void> => {
  if (!signalGroup(group, 'SIGKILL')) return;
  if (!(await groupGone(group, GONE_MS))) throw new Error(`process group ${String(group)} cannot be killed`);
};
