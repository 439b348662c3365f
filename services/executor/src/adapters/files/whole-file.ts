import { constants } from 'node:fs';
import { type FileHandle, lstat, open, rename, rm, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { CleanFailure, OutcomeUnknown } from '../../ports/capability.ts';
import { syncFolder } from './durable-file.ts';
import { acquire, openLock } from './file-lock.ts';

/** The current content of a file. */
export type FileContent = { readonly bytes: Buffer; readonly sha256: string; readonly mode: number };

/** Larger files would have to be held in memory. */
const READ_MAX_BYTES = 67_108_864;
const PERMISSIONS = 0o777;
const DEFAULT_MODE = 0o640;

const refused = (message: string, cause?: unknown): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_TARGET_REFUSED', message), cause);

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';

const isMissing = (error: unknown): boolean => codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';

const readHandle = async (handle: FileHandle): Promise<FileContent> => {
  const { size, mode } = await handle.stat();
  if (size > READ_MAX_BYTES) throw refused(`The file is larger than ${String(READ_MAX_BYTES)} bytes`);
  const bytes = await handle.readFile();
  return { bytes, sha256: sha256Of(bytes), mode: mode & PERMISSIONS };
};

/** Undefined when nothing exists there. Throws `CleanFailure` when it is not a regular file, or is a link. */
export const contentAt = async (path: string): Promise<FileContent | undefined> => {
  try {
    const entry = await lstat(path);
    if (entry.isSymbolicLink()) throw refused('The path is a symbolic link, which is not followed');
    if (!entry.isFile()) throw refused('The path is not a regular file');
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      return await readHandle(handle);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof CleanFailure) throw error;
    if (isMissing(error)) return undefined;
    throw refused(`Cannot read the file: ${codeOf(error)}`, error);
  }
};

/** Excludes all executors on this machine: from appending lines as well as from replacing the file. */
const locked = async <Result>(path: string, act: () => Promise<Result>): Promise<Result> => {
  let lock: ReturnType<typeof openLock>;
  try {
    lock = openLock(path);
  } catch (cause) {
    throw refused(`Cannot create the lock of the file: ${codeOf(cause)}`, cause);
  }
  try {
    await acquire(lock);
    return await act();
  } finally {
    // Releases the lock as well.
    lock.close();
  }
};

const writeNew = async (path: string, bytes: Uint8Array, mode: number): Promise<void> => {
  const handle = await open(
    path,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    0o600,
  );
  try {
    await handle.writeFile(bytes);
    // Explicit, because the umask of the process limits the mode of new files.
    await handle.chmod(mode);
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** Nothing has happened before the rename, so that every failure is clean. */
const cleanly = async (act: () => Promise<void>): Promise<void> => {
  try {
    await act();
  } catch (cause) {
    if (cause instanceof CleanFailure) throw cause;
    throw refused(`Cannot write the file: ${codeOf(cause)}`, cause);
  }
};

/** Renames and removals are durable only once their folder is synced. */
const settled = async (folder: string): Promise<void> => {
  try {
    await syncFolder(folder);
  } catch (cause) {
    throw new OutcomeUnknown(`written, but perhaps not on the disk: ${codeOf(cause)}`, { cause });
  }
};

export type Replacement = {
  readonly path: string;
  readonly bytes: Uint8Array;
  /** Permissions. Left out: those of the replaced file. */
  readonly mode?: number;
  /** The temporary name, in the same folder: the same for every start of an effect. */
  readonly meanwhile: string;
  /** Throws when the present content is not the expected one. False: the new content is there already. */
  readonly mayReplace: (held: FileContent | undefined) => boolean;
  /** Called right before the rename. */
  readonly assertInForce: () => void;
};

/** Replaces or creates a file atomically: readers and crashes find the old or the new content. */
export const replaceWhole = ({
  path,
  bytes,
  mode,
  meanwhile,
  mayReplace,
  assertInForce,
}: Replacement): Promise<{ readonly before: FileContent | undefined; readonly written: boolean }> =>
  locked(path, async () => {
    const folder = dirname(path);
    const before = await contentAt(path);
    if (!mayReplace(before)) {
      // The earlier start may have crashed before its sync.
      await settled(folder);
      return { before, written: false };
    }
    const temporary = join(folder, meanwhile);
    await cleanly(async () => {
      // Under the lock no other start writes it: a crash has left it.
      await rm(temporary, { force: true });
      try {
        await writeNew(temporary, bytes, mode ?? before?.mode ?? DEFAULT_MODE);
        assertInForce();
        await rename(temporary, path);
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
    });
    await settled(folder);
    return { before, written: true };
  });

/** Removes a file that still has this digest. False when there is none. */
export const removeWhole = (path: string, sha256: string, assertInForce: () => void): Promise<boolean> =>
  locked(path, async () => {
    const held = await contentAt(path);
    if (held !== undefined) {
      if (held.sha256 !== sha256) throw refused('The file has changed since, and is kept');
      await cleanly(async () => {
        assertInForce();
        await unlink(path);
      });
    }
    await settled(dirname(path));
    return held !== undefined;
  });
