import { keepOutput } from './kept-output.ts';
import { splitLines } from './output-lines.ts';
import type { HiddenStream } from '../../ports/capability.ts';
import { type GroupEnd, type GroupRequest, type OutputStream, runGroup } from './run-group.ts';

export const OUTPUT_MAX = 131_072;

export type CommandRequest = Omit<GroupRequest, 'onOutput'> & {
  /** Called with every line as it is printed. */
  readonly onLine?: ((stream: OutputStream, line: string) => void) | undefined;
  /** Bytes of each stream that are kept: its start and its end. */
  readonly outputMax?: number | undefined;
  /** Takes out of each stream what nobody may see, before anything is kept or cut. */
  readonly hidden?: (() => HiddenStream) | undefined;
};

const AS_IT_IS: HiddenStream = { add: (chunk) => chunk, end: () => Buffer.alloc(0) };

export type CommandResult = GroupEnd & {
  readonly stdout: string;
  readonly stderr: string;
  /** Some of the output was left out. */
  readonly truncated: boolean;
};

/** Runs a program and keeps what it prints, as text that any store can hold. */
export const runCommand = async ({
  onLine,
  outputMax = OUTPUT_MAX,
  hidden = () => AS_IT_IS,
  ...request
}: CommandRequest): Promise<CommandResult> => {
  const kept = { stdout: keepOutput(outputMax), stderr: keepOutput(outputMax) };
  const shown = { stdout: hidden(), stderr: hidden() };
  const lines = {
    stdout: splitLines((line) => onLine?.('stdout', line)),
    stderr: splitLines((line) => onLine?.('stderr', line)),
  };
  const take = (stream: OutputStream, chunk: Buffer): void => {
    kept[stream].add(chunk);
    if (onLine !== undefined) lines[stream].add(chunk);
  };
  const end = await runGroup({
    ...request,
    onOutput: (stream, chunk) => take(stream, shown[stream].add(chunk)),
  });
  for (const stream of ['stdout', 'stderr'] as const) {
    take(stream, shown[stream].end());
    lines[stream].end();
  }
  return {
    ...end,
    stdout: kept.stdout.text(),
    stderr: kept.stderr.text(),
    truncated: kept.stdout.truncated() || kept.stderr.truncated(),
  };
};

/** What `sh` runs. No login shell: a profile would change the environment that was made for the command, and with it what was approved. */
export const scriptArgv = (script: string): readonly string[] => ['sh', '-c', script];
