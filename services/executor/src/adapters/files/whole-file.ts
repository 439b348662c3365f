import { constants } from 'node:fs';
import { type FileHandle, lstat, open, rename, rm, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { CleanFailure, OutcomeUnknown } from '../../ports/capability.ts';
import { syncFolder } from './durable-file.ts';
import { acquire, openLock } from './file-lock.ts';

/** A file as it is now. */
export type Held = { readonly bytes: Buffer; readonly sha256: string; readonly mode: number };

/** What is larger is not looked into: it would have to be held in memory. */
const READ_MAX_BYTES = 67_108_864;
const PERMISSIONS = 0o777;
const DEFAULT_MODE = 0o640;

const refused = (message: string, cause?: unknown): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_TARGET_REFUSED', message), cause);

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';

const isMissing = (error: unknown): boolean => codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';

const readHandle = async (handle: FileHandle): Promise<Held> => {
  const { size, mode } = await handle.stat();
  if (size > READ_MAX_BYTES) throw refused(`the file is larger than ${String(READ_MAX_BYTES)} bytes`);
  const bytes = await handle.readFile();
  return { bytes, sha256: sha256Of(bytes), mode: mode & PERMISSIONS };
};

/** What stands at a path; undefined when nothing does. Throws `CleanFailure` on what is no file, or is a link to one. */
export const heldAt = async (path: string): Promise<Held | undefined> => {
  try {
    const entry = await lstat(path);
    if (entry.isSymbolicLink()) throw refused('a symbolic link is there, and is not followed');
    if (!entry.isFile()) throw refused('something else than a file is there');
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      return await readHandle(handle);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof CleanFailure) throw error;
    if (isMissing(error)) return undefined;
    throw refused(`the file cannot be read: ${codeOf(error)}`, error);
  }
};

/** Nobody else of ours changes a file meanwhile, on this machine: neither its lines nor the whole of it. */
const locked = async <Result>(path: string, act: () => Promise<Result>): Promise<Result> => {
  let lock: ReturnType<typeof openLock>;
  try {
    lock = openLock(path);
  } catch (cause) {
    throw refused(`the lock of the file cannot be made: ${codeOf(cause)}`, cause);
  }
  try {
    await acquire(lock);
    return await act();
  } finally {
    // Gives the lock back as well.
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
    // Said outright, because what a file is made with is cut by the mask of the process.
    await handle.chmod(mode);
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** Up to the step that puts it there nothing has happened, whatever goes wrong. */
const cleanly = async (act: () => Promise<void>): Promise<void> => {
  try {
    await act();
  } catch (cause) {
    if (cause instanceof CleanFailure) throw cause;
    throw refused(`the file cannot be written: ${codeOf(cause)}`, cause);
  }
};

/** A name that was given or taken away is there for good once its folder is on the disk. */
const settled = async (folder: string): Promise<void> => {
  try {
    await syncFolder(folder);
  } catch (cause) {
    throw new OutcomeUnknown(`done, and perhaps not on the disk: ${codeOf(cause)}`, { cause });
  }
};

export type Replacement = {
  readonly path: string;
  readonly bytes: Uint8Array;
  /** Permissions; when left out, those of the file before. */
  readonly mode?: number;
  /** What the file is called while it is written, in the same folder: the same for every start of an effect. */
  readonly meanwhile: string;
  /** Throws when what is there is not what was expected. False: it is there already, and nothing is written. */
  readonly mayReplace: (held: Held | undefined) => boolean;
  /** Called right before the file is there. */
  readonly assertInForce: () => void;
};

/** Puts a whole file in the place of another, or of none: whoever reads it, and any crash, finds one of the two. */
export const replaceWhole = ({
  path,
  bytes,
  mode,
  meanwhile,
  mayReplace,
  assertInForce,
}: Replacement): Promise<{ readonly before: Held | undefined; readonly written: boolean }> =>
  locked(path, async () => {
    const folder = dirname(path);
    const before = await heldAt(path);
    if (!mayReplace(before)) {
      // Whoever wrote it may not have come so far as to do this.
      await settled(folder);
      return { before, written: false };
    }
    const temporary = join(folder, meanwhile);
    await cleanly(async () => {
      // Under the lock nobody is at it any more: it is what a crash has left.
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

/** Takes a file away that is still the same. False when none is there. */
export const removeWhole = (path: string, sha256: string, assertInForce: () => void): Promise<boolean> =>
  locked(path, async () => {
    const held = await heldAt(path);
    if (held !== undefined) {
      if (held.sha256 !== sha256) throw refused('the file was changed since, and is left as it is');
      await cleanly(async () => {
        assertInForce();
        await unlink(path);
      });
    }
    await settled(dirname(path));
    return held !== undefined;
  });
