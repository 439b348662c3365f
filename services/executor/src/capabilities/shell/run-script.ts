import type { AttemptReport } from '@holdpoint/contracts/workflow/attempt';
import type { StepResult } from '@holdpoint/contracts/task/step';
import type { CommandResult } from '../../adapters/process/run-command.ts';
import { failed, succeeded } from '../stage/results.ts';
import type { StageTools, ToolCommand } from '../stage/tools.ts';

/** The end of the output usually explains a failure. */
const HINT_BYTES_MAX = 16_384;
/** The rest is in the log. */
const STDOUT_BYTES_MAX = 65_536;

/** The exit code of timeout(1). */
const TIMED_OUT = 124;
const NOT_BEGUN = 127;
const KILLED = 137;

const lastBytes = (text: string, max: number): string => {
  const bytes = Buffer.from(text);
  if (bytes.length <= max) return text;
  // Drops a cut character.
  return bytes
    .subarray(bytes.length - max)
    .toString('utf8')
    .replace(/^\uFFFD+/, '');
};

export type ScriptRun = {
  readonly result: CommandResult;
  /** The end of stdout and stderr, in printed order. */
  readonly end: string;
};

/** Runs a script and keeps the end of its output. */
export const runScript = async (
  tools: Pick<StageTools, 'script'>,
  script: string,
  options: Omit<ToolCommand, 'argv' | 'onLine'> = {},
): Promise<ScriptRun> => {
  let lines: string[] = [];
  let size = 0;
  const onLine = (_stream: unknown, line: string): void => {
    lines.push(line);
    size += line.length + 1;
    if (size < HINT_BYTES_MAX * 4) return;
    const kept = lastBytes(lines.join('\n'), HINT_BYTES_MAX);
    lines = [kept];
    size = kept.length;
  };
  const result = await tools.script(script, { ...options, onLine });
  return { result, end: lastBytes(lines.join('\n'), HINT_BYTES_MAX) };
};

/** An exit code for every way to end. */
export const exitCodeOf = (result: CommandResult): number => {
  if (result.timedOut) return TIMED_OUT;
  if (result.problem !== undefined) return NOT_BEGUN;
  return result.exitCode ?? KILLED;
};

export const outputsOf = (result: CommandResult) => ({
  exit_code: exitCodeOf(result),
  stdout: lastBytes(result.stdout, STDOUT_BYTES_MAX),
  duration_ms: result.durationMs,
  timed_out: result.timedOut,
});

/** How a command ended, for users. */
export const endOf = (result: CommandResult): string => {
  const seconds = `${(result.durationMs / 1_000).toFixed(1)} s`;
  if (result.problem !== undefined) return result.problem;
  if (result.timedOut) return `timed out and was stopped after ${seconds}`;
  if (result.exitCode === undefined) return `was killed by ${result.signal ?? 'a signal'} after ${seconds}`;
  return `ended with exit code ${String(result.exitCode)} after ${seconds}`;
};

/** A report of the duration only. */
export const tookSoLong = (...results: readonly CommandResult[]): AttemptReport => ({
  usage: { durationMs: results.reduce((sum, { durationMs }) => sum + durationMs, 0) },
});

/** The step result of a script: only exit code 0 is success. */
export const resultOf = ({ result, end }: ScriptRun, what: string): StepResult => {
  const common = { outputs: outputsOf(result), report: tookSoLong(result) };
  const detail = `${what} ${endOf(result)}`;
  if (result.exitCode === 0 && !result.timedOut && !result.cancelled)
    return succeeded(detail, { exitCode: 0, ...common });
  return failed(detail, { exitCode: exitCodeOf(result), ...common, hint: end === '' ? endOf(result) : end });
};
