import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { WorkflowFileError } from '@holdpoint/workflows/files/file-error';
import { CommanderError } from 'commander';
import { printable } from '../output/printable.ts';
import { Refusal } from './refusal.ts';
import { UsageError } from './usage-error.ts';

export const EXIT = {
  ok: 0,
  /** Refused, or the run or job that was followed failed or was cancelled. */
  failed: 1,
  usage: 2,
  /** The task that was watched waits for a person; the run or job that was followed is blocked. */
  waiting: 10,
} as const;

/** What of a failure goes to standard error, and the exit code. An error that nobody foresaw is thrown on. */
export const reportFailure = (error: unknown): { readonly code: number; readonly line?: string } => {
  if (error instanceof HoldpointError || error instanceof Refusal || error instanceof WorkflowFileError)
    return { code: EXIT.failed, line: `error ${printable(`${error.code}: ${error.message}`)}` };
  if (error instanceof UsageError)
    return { code: EXIT.usage, line: `error USAGE: ${printable(error.message)}` };
  // Commander has written its own message by now; help and version are no failure.
  if (error instanceof CommanderError) return { code: error.exitCode === 0 ? EXIT.ok : EXIT.usage };
  throw error;
};

/** It may well work in a while. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof HoldpointError && error.code === 'RUNTIME_UNAVAILABLE';
