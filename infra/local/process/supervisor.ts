import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT_CONFIG } from '@holdpoint/contracts/values/settings';
import { rotateLog, startChild } from './child.ts';
import type { Child, ChildSpec, Exit } from './child.ts';
import { tail } from './tail.ts';

export type Supervised<Name extends string = string> = {
  readonly name: Name;
  readonly logFile: string;
  readonly pid: () => number;
  readonly restarts: () => number;
  /** The reason why the supervisor gave the process up. Absent while it runs. */
  readonly failure: () => string | undefined;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Starts no further process. Returns the last exit. */
  readonly stop: () => Promise<Exit>;
};

export type SupervisorOptions = {
  readonly say: (line: string) => void;
  readonly onStart?: (child: Child) => Promise<void>;
  /** Called at every end that \`stop\` did not cause. */
  readonly onExit?: (child: Child, exit: Exit) => void;
  /** More environment variables for the n-th process, counted from 0. */
  readonly envOf?: (restarts: number) => Readonly<Record<string, string>>;
  /** The first and the largest pause before a restart. */
  readonly pauseMs?: { readonly min: number; readonly max: number };
};

const PAUSE_MS = { min: 100, max: 5_000 } as const;
/** Having run for so long, it is not what ended it the last time. */
const STEADY_AFTER_MS = 20_000;

const howItEnded = ({ code, signal }: Exit) =>
  signal === null ? `with code ${String(code)}` : `by ${signal}`;

/** Keeps a process running: one that ends unasked is started again, at once the first time, then with growing delay. */
export const supervise = async <Name extends string>(
  spec: ChildSpec & { readonly name: Name },
  { say, onStart, onExit, envOf, pauseMs = PAUSE_MS }: SupervisorOptions,
): Promise<Supervised<Name>> => {
  const stopping = new AbortController();
  let restarts = 0;
  let failure: string | undefined;

  const launch = async (): Promise<Child> => {
    const env = envOf === undefined ? spec.env : { ...spec.env, ...envOf(restarts) };
    const started = await startChild({ ...spec, ...(env !== undefined && { env }) });
    await onStart?.(started);
    return started;
  };

  await rotateLog(spec.logFile);
  let child = await launch();

  const watch = async () => {
    let delayMs: number = pauseMs.min;
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      const exit = await child.exited;
      if (stopping.signal.aborted) return;
      onExit?.(child, exit);
      if (exit.code === EXIT_CONFIG) {
        failure = `${spec.name} refuses its configuration: ${await tail(spec.logFile, 1)}`;
        say(failure);
        return;
      }
      delayMs = performance.now() - startedAt > STEADY_AFTER_MS ? pauseMs.min : delayMs;
      say(
        `${spec.name} ended ${howItEnded(exit)}; it is started again in ${delayMs / 1_000} s (${spec.logFile})`,
      );
      await sleep(delayMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      delayMs = Math.min(delayMs * 2, pauseMs.max);
      restarts += 1;
      child = await launch();
    }
  };
  const watching = watch().catch((error: unknown) => {
    failure = `${spec.name} could not be started again: ${String(error)}`;
    say(failure);
  });

  return {
    name: spec.name,
    logFile: spec.logFile,
    pid: () => child.pid,
    restarts: () => restarts,
    failure: () => failure,
    signal: (signal) => child.signal(signal),
    stop: async () => {
      stopping.abort();
      await child.stop();
      await watching;
      // It may have been started once more between the two.
      return child.stop();
    },
  };
};
