import { open } from 'node:fs/promises';

const TAIL_BYTES = 8_192;

/** The last lines of a log, for the message that says why something did not start. */
export const tail = async (path: string, lines: number): Promise<string> => {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const length = Math.min(size, TAIL_BYTES);
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString('utf8').trimEnd().split('\n').slice(-lines).join('\n');
  } finally {
    await file.close();
  }
};

const REASON_WITHIN_LINES = 50;

/** The last line that gives a reason. Node.js adds a stack and its version to an error. */
export const lastReason = async (path: string): Promise<string> =>
  (await tail(path, REASON_WITHIN_LINES))
    .split('\n')
    .findLast((line) => !/^(\s*$|\s+at |Node\.js v)/.test(line)) ?? 'its log is empty';
