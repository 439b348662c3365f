import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { UsageError } from '../kit/usage-error.ts';

const OTHERS = 0o077;

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');

/** Reads a file that only its owner may access; undefined if it does not exist. */
export const readOwnFile = (path: string): string | undefined => {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw new UsageError(`${path} cannot be read`, { cause });
  }
  try {
    const { uid, mode, size } = fstatSync(descriptor);
    if (uid !== process.getuid?.() || (mode & OTHERS) !== 0)
      throw new UsageError(`${path} is accessible to other users: set mode 0600`);
    if (size > 65_536) throw new UsageError(`${path}: invalid format`);
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
};
