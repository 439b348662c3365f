import { keepOutput } from './output-buffer.ts';
import { splitLines } from './output-lines.ts';
import type { HiddenStream } from '../../ports/capability.ts';
import { type GroupEnd, type GroupRequest, type OutputStream, runGroup } from './run-group.ts';

export const OUTPUT_MAX = 131_072;

export type CommandRequest = Omit<GroupRequest, 'onOutput'> & {
  /** Called for every line. */
  readonly onLine?: ((stream: OutputStream, line: string) => void) | undefined;
  /** Maximum bytes kept of each stream: its start and its end. */
  readonly outputMax?: number | undefined;
  /** Removes secrets from each stream, before anything is kept or cut. */
  readonly hidden?: (() => HiddenStream) | undefined;
};

const AS_IT_IS: HiddenStream = { add: (chunk) => chunk, end: () => Buffer.alloc(0) };

export type CommandResult = GroupEnd & {
  readonly stdout: string;
  readonly stderr: string;
  /** Some of the output was omitted. */
  readonly truncated: boolean;
};

/** Runs a command and keeps its output, as text that PostgreSQL can hold. */
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

/** Not a login shell: a profile would change the approved environment. */
export const scriptArgv = (script: string): readonly string[] => ['sh', '-c', script];
