import { createHash } from 'node:crypto';
import { closeSync, fsync, openSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import type { LogStream } from '@holdpoint/contracts/task/log';

const sync = promisify(fsync);

/** What a file holds. */
export type Written = { readonly sha256: string; readonly bytes: number };

/** All that one start prints, on the disk as it comes. */
export type LogFile = {
  /**
   * Neither waits nor fails. The line is asked for only if there is room for it. What cannot be written is told by `end`.
   */
  readonly say: (stream: LogStream, line: () => string) => void;
  /** Resolves once all of it is on the disk; rejects when some of it could not be written. */
  readonly end: () => Promise<Written>;
};

export type LogFileParts = {
  /** A new file. */
  readonly path: string;
  readonly maxBytes: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
};

const MIB = 1_048_576;
const PENDING_MAX = 65_536;
const NAMES = { stdout: 'out', stderr: 'err', holdpoint: 'hp ' } as const;

/** `2026-01-01T00:00:00.000Z out | text`. */
const row = (at: number, from: keyof typeof NAMES, text: string): string =>
  `${new Date(at).toISOString()} ${NAMES[from]} | ${text}\n`;

const leftOutRow = (at: number, count: number, maxBytes: number): string => {
  const lines = count === 1 ? '1 line was' : `${String(count)} lines were`;
  return row(
    at,
    'holdpoint',
    `[holdpoint] ${lines} left out here: of a log ${String(maxBytes / MIB)} MiB are kept`,
  );
};

/**
 * Writes what it is told at the end of the turn that it is told in, and at once: whoever prints faster than the disk takes it
 * is held up, and nothing gathers in memory. Beyond the limit it only counts.
 */
export const createLogFile = ({ path, maxBytes, now }: LogFileParts): LogFile => {
  const file = openSync(path, 'ax', 0o600);
  const hash = createHash('sha256');
  let bytes = 0;
  let pending: string[] = [];
  let pendingLength = 0;
  let leftOut = 0;
  let problem: unknown;
  let planned = false;
  let ended = false;

  const write = (text: string): void => {
    if (problem !== undefined || text === '') return;
    const data = Buffer.from(text);
    try {
      for (let done = 0; done < data.length;) done += writeSync(file, data, done);
      hash.update(data);
    } catch (error) {
      problem = error;
    }
  };
  const flush = (): void => {
    const text = pending.join('');
    pending = [];
    pendingLength = 0;
    write(text);
  };
  const planFlush = (): void => {
    if (planned) return;
    planned = true;
    setImmediate(() => {
      planned = false;
      if (!ended) flush();
    });
  };

  return {
    say: (stream, line) => {
      if (ended || problem !== undefined) return;
      // Once a line did not fit, none after it is taken: what is kept is the start.
      const text = leftOut > 0 || bytes >= maxBytes ? undefined : row(now(), stream, line());
      const size = text === undefined ? 0 : Buffer.byteLength(text);
      if (text === undefined || bytes + size > maxBytes) {
        leftOut += 1;
        return;
      }
      bytes += size;
      pending.push(text);
      pendingLength += text.length;
      if (pendingLength >= PENDING_MAX) flush();
      else planFlush();
    },
    end: async () => {
      ended = true;
      const notice = leftOut > 0 ? leftOutRow(now(), leftOut, maxBytes) : '';
      bytes += Buffer.byteLength(notice);
      pending.push(notice);
      flush();
      try {
        if (problem === undefined) await sync(file);
      } catch (error) {
        problem = error;
      } finally {
        closeSync(file);
      }
      if (problem !== undefined) throw new Error('the log could not be written', { cause: problem });
      return { sha256: hash.digest('hex'), bytes };
    },
  };
};
