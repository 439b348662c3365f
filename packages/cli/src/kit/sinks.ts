import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { UsageError } from './usage-error.ts';

export type Sink = {
  readonly write: (bytes: Buffer) => void;
  /** The content is complete and verified. */
  readonly done: () => void;
  readonly failed: () => void;
};

/** A new file. It is removed again if the content is incomplete. */
export const fileSink = (name: string, directory: string): Sink => {
  const path = resolve(directory, name);
  const open = (): number => {
    try {
      return openSync(path, 'wx', 0o600);
    } catch (cause) {
      const isThere = cause instanceof Error && 'code' in cause && cause.code === 'EEXIST';
      throw new UsageError(`${name} ${isThere ? 'already exists' : 'cannot be written'}`, { cause });
    }
  };
  const file = open();
  return {
    write: (bytes) => {
      for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done);
    },
    done: () => closeSync(file),
    failed: () => {
      closeSync(file);
      rmSync(path, { force: true });
    },
  };
};

/** Longer lines are split. */
const LINE_MAX = 65_536;

/** Escaped lines for a terminal. */
export const terminalSink = (onLine: (line: string) => void): Sink => {
  const decoder = new StringDecoder('utf8');
  let open = '';
  const add = (text: string): void => {
    const lines = (open + text).split('\n');
    open = lines.pop() ?? '';
    for (const line of lines) onLine(line);
    if (open.length <= LINE_MAX) return;
    onLine(open);
    open = '';
  };
  const end = (): void => {
    add(decoder.end());
    if (open !== '') onLine(open);
    open = '';
  };
  return { write: (bytes) => add(decoder.write(bytes)), done: end, failed: end };
};

/** For errors of an output whose reader may stop early, as `head` does, and whose terminal may close. Throws every other error. */
export const allowLostOutput = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
};
