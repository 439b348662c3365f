import { execFile } from 'node:child_process';

export type RunOptions = {
  readonly timeoutMs: number;
  readonly cwd?: string;
  readonly uid?: number;
  readonly gid?: number;
  /** Ends the program. */
  readonly signal?: AbortSignal | undefined;
};

/** Runs a program to its end, without a shell. Throws with the last line of its stderr. */
export const run = (
  command: string,
  args: readonly string[],
  { timeoutMs, signal, ...where }: RunOptions,
): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = { timeout: timeoutMs, maxBuffer: 16 * 1024 * 1024, ...where };
    const child = execFile(command, [...args], options, (error, stdout, stderr) => {
      signal?.removeEventListener('abort', end);
      if (error === null) return resolve(stdout);
      if (signal?.aborted === true) return reject(signal.reason as Error);
      if (error.killed)
        return reject(new Error(`${command} did not finish within ${timeoutMs / 1_000} s`, { cause: error }));
      const complaint = stderr.trim().split('\n').at(-1);
      reject(complaint ? new Error(complaint, { cause: error }) : error);
    });
    // In place of the option of execFile, which does not wait until the program has ended.
    const end = (): void => void child.kill();
    signal?.addEventListener('abort', end);
    if (signal?.aborted === true) end();
  });
