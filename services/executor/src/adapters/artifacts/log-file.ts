import { createHash } from 'node:crypto';
import { closeSync, fsync, openSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import type { LogStream } from '@holdpoint/contracts/task/log';

const sync = promisify(fsync);

export type FileDigest = { readonly sha256: string; readonly bytes: number };

/** The whole output of one start, on the disk as it arrives. */
export type LogFile = {
  /** Never waits and never fails. The line is computed only if there is room for it. `end` reports write errors. */
  readonly print: (stream: LogStream, line: () => string) => void;
  /** Resolves once the file is on the disk; rejects if a write failed. */
  readonly end: () => Promise<FileDigest>;
};

export type LogFileParts = {
  /** The path of a file that does not exist yet. */
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
  const lines = count === 1 ? '1 line' : `${String(count)} lines`;
  return row(
    at,
    'holdpoint',
    `[holdpoint] ${lines} omitted here: logs are kept up to ${String(maxBytes / MIB)} MiB`,
  );
};

/**
 * Writes synchronously at the end of the turn: a producer that is faster than the disk is slowed down, and nothing
 * gathers in memory. Beyond the limit it only counts.
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
    print: (stream, line) => {
      if (ended || problem !== undefined) return;
      // Keeps the beginning: after the first line that does not fit, no other is taken.
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
      if (problem !== undefined) throw new Error('cannot write the log', { cause: problem });
      return { sha256: hash.digest('hex'), bytes };
    },
  };
};
