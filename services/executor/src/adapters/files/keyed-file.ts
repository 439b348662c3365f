import { type FileHandle, open, stat } from 'node:fs/promises';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { CleanFailure } from '../../ports/capability.ts';
import { acquire, type FileLock, openLock } from './file-lock.ts';
import { createWorkspace } from './workspace.ts';

export type Line = { readonly key: string; readonly line: string; readonly assertInForce: () => void };
export type AppendLine = (line: Line) => Promise<{ readonly repeated: boolean }>;

type PendingLine = Line & {
  readonly resolve: (result: { readonly repeated: boolean }) => void;
  readonly reject: (error: unknown) => void;
};

/** An open file, its lock, and the keys of all lines that were read. */
type OpenFile = {
  readonly handle: FileHandle;
  readonly lock: FileLock;
  readonly close: () => Promise<void>;
  readonly keys: Set<string>;
  readTo: number;
};

/**
 * A file whose lines carry keys, and which takes each key once, through crashes and with several executors. Lines
 * gather while a write is under way, so that many share one lock and one sync.
 */
export const createKeyedFile = (path: string): AppendLine => {
  const waiting: PendingLine[] = [];
  let opened: OpenFile | undefined;
  let writing = false;

  /** Nothing is written up to here: every failure is clean. */
  const begin = async (): Promise<OpenFile> => {
    try {
      const file = await current(path, opened);
      if (opened !== file) await opened?.close();
      opened = file;
      await acquire(file.lock);
      return file;
    } catch (cause) {
      if (cause instanceof CleanFailure) throw cause;
      await opened?.close();
      opened = undefined;
      throw new CleanFailure(
        errorBody('EXECUTOR_TARGET_REFUSED', `Cannot open the file: ${codeOf(cause)}`),
        cause,
      );
    }
  };

  const write = async (batch: readonly PendingLine[]): Promise<void> => {
    const file = await begin();
    try {
      await append(file, batch);
    } finally {
      file.lock.release();
    }
  };

  const drain = async (): Promise<void> => {
    writing = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0);
      await write(batch).catch((error: unknown) => {
        for (const { reject } of batch) reject(error);
      });
    }
    writing = false;
  };

  return (line) =>
    new Promise((resolve, reject) => {
      waiting.push({ ...line, resolve, reject });
      if (!writing) void drain();
    });
};

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';

/** Opens the file again if it was moved or replaced. */
const current = async (path: string, opened: OpenFile | undefined): Promise<OpenFile> => {
  if (opened !== undefined) {
    const [held, named] = await Promise.all([opened.handle.stat(), stat(path).catch(() => undefined)]);
    if (named?.ino === held.ino && named.dev === held.dev) return opened;
  }
  const handle = await open(path, 'a+', 0o640);
  try {
    const lock = openLock(path);
    const close = async (): Promise<void> => {
      lock.close();
      await handle.close();
    };
    return { handle, lock, close, keys: new Set(), readTo: 0 };
  } catch (error) {
    await handle.close();
    throw error;
  }
};

/** Under the lock. New keys are written and synced together; known keys were applied before. */
const append = async (opened: OpenFile, batch: readonly PendingLine[]): Promise<void> => {
  const mend = await catchUp(opened);
  const fresh = new Map<string, PendingLine>();
  const repeated: PendingLine[] = [];
  for (const line of batch.filter(inForce)) {
    if (opened.keys.has(line.key) || fresh.has(line.key)) repeated.push(line);
    else fresh.set(line.key, line);
  }
  if (fresh.size > 0) {
    await opened.handle.appendFile(
      mend + [...fresh.values()].map(({ key, line }) => `${key}\t${line}\n`).join(''),
    );
    await opened.handle.datasync();
  }
  for (const { resolve } of fresh.values()) resolve({ repeated: false });
  for (const { resolve } of repeated) resolve({ repeated: true });
};

/** Marks a line that a crash has truncated. Complete lines never contain this character. */
const CUT_OFF = '\r';

/** Reads the keys of new lines; returns the text that closes a truncated last line. */
const catchUp = async (opened: OpenFile): Promise<string> => {
  const { size } = await opened.handle.stat();
  if (size < opened.readTo) {
    // The file was truncated, and its keys with it.
    opened.keys.clear();
    opened.readTo = 0;
  }
  const rest = Buffer.alloc(size - opened.readTo);
  if (rest.length > 0) await opened.handle.read(rest, 0, rest.length, opened.readTo);
  const end = rest.lastIndexOf(0x0a) + 1;
  for (const line of rest.subarray(0, end).toString('utf8').split('\n')) {
    if (line.includes('\t') && !line.endsWith(CUT_OFF)) opened.keys.add(line.slice(0, line.indexOf('\t')));
  }
  opened.readTo += end;
  return end < rest.length ? `${CUT_OFF}\n` : '';
};

/** Rejects a line whose lease may be over; it has not been written. */
const inForce = ({ assertInForce, reject }: PendingLine): boolean => {
  try {
    assertInForce();
    return true;
  } catch (error) {
    reject(error);
    return false;
  }
};

/** One writer for each file. The path of a file is resolved again for each group of concurrent appends. */
export const createKeyedFiles = (root: string): ((file: string) => Promise<AppendLine>) => {
  const workspace = createWorkspace(root);
  const writers = new Map<string, AppendLine>();
  const resolving = new Map<string, Promise<string>>();

  const resolve = (file: string): Promise<string> => {
    const path = workspace.resolve(file).finally(() => resolving.delete(file));
    resolving.set(file, path);
    return path;
  };

  return async (file) => {
    const path = await (resolving.get(file) ?? resolve(file));
    const writer = writers.get(path) ?? createKeyedFile(path);
    writers.set(path, writer);
    return writer;
  };
};
