import { hasCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { ConfigError, EXIT_CONFIG } from '@holdpoint/contracts/values/settings';
import { WorkflowFileError } from '@holdpoint/workflows/files/file-error';
import { CommanderError } from 'commander';
import { printable } from '../output/printable.ts';
import { Refusal } from './refusal.ts';
import { UsageError } from './usage-error.ts';

export const EXIT = {
  ok: 0,
  /** Refused, or the followed task or job failed or was cancelled. */
  failed: 1,
  usage: 2,
  /** The watched task is paused, or the followed task or job is blocked. */
  waiting: 10,
} as const;

/** The line for standard error and the exit code. Rethrows unexpected errors. */
export const reportFailure = (error: unknown): { readonly code: number; readonly line?: string } => {
  if (error instanceof HoldpointError || error instanceof Refusal || error instanceof WorkflowFileError)
    return { code: EXIT.failed, line: `error ${printable(`${error.code}: ${error.message}`)}` };
  if (error instanceof UsageError)
    return { code: EXIT.usage, line: `error USAGE: ${printable(error.message)}` };
  // The environment gives the settings of a deployment. Services end with the same code.
  if (error instanceof ConfigError)
    return { code: EXIT_CONFIG, line: `error CONFIG: ${printable(error.message)}` };
  // Commander has printed its own message; help and version are not failures.
  if (error instanceof CommanderError) return { code: error.exitCode === 0 ? EXIT.ok : EXIT.usage };
  throw error;
};

/** True for a temporary failure. */
export const isUnavailable = (error: unknown): boolean => hasCode(error, 'RUNTIME_UNAVAILABLE');
