import { spawn } from 'node:child_process';
import { open, rename } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMissing } from '../../credentials/keep.ts';

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export type ChildSpec = {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly uid?: number;
  readonly gid?: number;
};

/** A signal, and how long to wait for its effect before the next one. */
export type Farewell = readonly (readonly [NodeJS.Signals, number])[];

export type Child = {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  readonly exited: Promise<Exit>;
  readonly hasExited: () => boolean;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Resolves when the process is gone. May be called twice. */
  readonly stop: (farewell?: Farewell) => Promise<Exit>;
};

const POLITE: Farewell = [
  ['SIGTERM', 20_000],
  ['SIGKILL', 10_000],
];

/** Keeps the log of the run before, so that the reason why it ended is still there. */
export const rotateLog = async (logFile: string): Promise<void> => {
  try {
    await rename(logFile, `${logFile}.old`);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
};

/**
 * Starts a process that writes its output into a file. The process has its own group: a Ctrl-C on the terminal reaches
 * only the starter, which then stops all processes in order.
 */
export const startChild = async (spec: ChildSpec): Promise<Child> => {
  const log = await open(spec.logFile, 'a');
  try {
    const child = spawn(spec.command, [...spec.args], {
      stdio: ['ignore', log.fd, log.fd],
      detached: true,
      env: spec.env ?? process.env,
      ...(spec.cwd !== undefined && { cwd: spec.cwd }),
      ...(spec.uid !== undefined && { uid: spec.uid }),
      ...(spec.gid !== undefined && { gid: spec.gid }),
    });
    const exited = new Promise<Exit>((resolve) =>
      child.once('exit', (code, signal) => resolve({ code, signal })),
    );
    const pid = await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('spawn', () => resolve(child.pid ?? 0));
    });
    const hasExited = () => child.exitCode !== null || child.signalCode !== null;
    const stop = async (farewell: Farewell = POLITE): Promise<Exit> => {
      for (const [signal, waitMs] of farewell) {
        if (!hasExited()) child.kill(signal);
        const timeout = new AbortController();
        await Promise.race([
          exited,
          sleep(waitMs, undefined, { signal: timeout.signal }).catch(() => undefined),
        ]);
        timeout.abort();
        if (hasExited()) return exited;
      }
      throw new Error(`${spec.name} (process ${pid}) does not stop`);
    };
    return {
      name: spec.name,
      pid,
      logFile: spec.logFile,
      exited,
      hasExited,
      signal: (signal) => void child.kill(signal),
      stop,
    };
  } finally {
    await log.close();
  }
};
