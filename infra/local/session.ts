import { once } from 'node:events';
import { allowLostOutput } from '@holdpoint/cli/kit/sinks';
import { describeFailure } from './problem.ts';
import { AlreadyRunning } from './foundation.ts';
import type { RunningStack, Stack } from './stack.ts';

const OUTPUT = [process.stdout, process.stderr] as const;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export type Session = {
  /** Returns the exit code. `leave` says when a signal has come. */
  readonly work: (running: RunningStack, leave: AbortSignal) => Promise<number>;
  readonly interruptedCode: number;
  readonly alreadyRunning: (error: AlreadyRunning) => number;
};

/**
 * Runs a stack for one command: starts it, does the work and stops everything, also after a failure or a signal.
 * Returns the exit code for `process.exit`: abandoned work may still be pending.
 */
export const runSession = async (
  stack: Stack,
  { work, interruptedCode, alreadyRunning }: Session,
): Promise<number> => {
  const leave = new AbortController();
  const interrupt = () => {
    if (!leave.signal.aborted) process.stderr.write('\nstopping ...\n');
    leave.abort();
    void stack.stop().catch(() => undefined); // reported below, where it is awaited
  };
  // State is unknown after an unhandled error; the stack still stops.
  const crash = (error: unknown) => {
    process.stderr.write(`holdpoint: ${describeFailure(error)}\n`);
    void stack.stop().finally(() => process.exit(1));
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  // The stack still stops.
  for (const stream of OUTPUT) stream.on('error', allowLostOutput);
  process.once('uncaughtException', crash);
  try {
    const left = once(leave.signal, 'abort').then(() => interruptedCode);
    // A signal abandons the running step; the stack stops beneath it.
    return await Promise.race([stack.start().then((running) => work(running, leave.signal)), left]);
  } catch (error) {
    if (error instanceof AlreadyRunning) return alreadyRunning(error);
    process.stderr.write(`holdpoint: ${describeFailure(error)}\n`);
    return 1;
  } finally {
    await stack.stop();
    for (const signal of SIGNALS) process.off(signal, interrupt);
    process.off('uncaughtException', crash);
  }
};
