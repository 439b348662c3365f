import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats } from 'node:fs';
import { confine } from './confine.ts';
import { systemCode, WorkflowFileError } from './file-error.ts';

/** Far larger than any template; protects the memory. */
export const FILE_MAX_BYTES = 1_048_576;

/** Returns the text of a file, or undefined when there is none. */
export type ReadFile = (path: string) => string | undefined;

const kindOf = (stats: Stats): string => {
  if (stats.isDirectory()) return 'a folder';
  if (stats.isFIFO()) return 'a pipe';
  if (stats.isSocket()) return 'a socket';
  return 'a device';
};

const checkRegular = (stats: Stats, asked: string): void => {
  if (!stats.isFile()) throw new WorkflowFileError('WORKFLOW_NOT_A_FILE', asked, kindOf(stats));
  if (stats.size > FILE_MAX_BYTES)
    throw new WorkflowFileError('WORKFLOW_FILE_TOO_LARGE', asked, `${String(stats.size)} bytes`);
};

/** Reads only the size that `stat` reported: the file may grow meanwhile. */
const readAll = (descriptor: number, { size }: Stats, asked: string): Buffer => {
  const buffer = Buffer.allocUnsafe(size + 1);
  let length = 0;
  while (length < buffer.length) {
    const read = readSync(descriptor, buffer, length, buffer.length - length, null);
    if (read === 0) return buffer.subarray(0, length);
    length += read;
  }
  throw new WorkflowFileError('WORKFLOW_FILE_UNREADABLE', asked, 'a file that grew during reading');
};

const decode = (bytes: Buffer, asked: string): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new WorkflowFileError('WORKFLOW_FILE_NOT_TEXT', asked, 'other bytes', { cause });
  }
};

// Non-blocking, because opening a pipe would otherwise wait for a writer.
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

const readRegular = (real: string, asked: string): string => {
  // Checked before opening as well: opening a device may have side effects.
  checkRegular(lstatSync(real), asked);
  const descriptor = openSync(real, FLAGS);
  try {
    const stats = fstatSync(descriptor);
    checkRegular(stats, asked);
    return decode(readAll(descriptor, stats, asked), asked);
  } finally {
    closeSync(descriptor);
  }
};

/** The text of a resolved path; undefined when the file has disappeared. */
const readPlace = (real: string, asked: string): string | undefined => {
  try {
    return readRegular(real, asked);
  } catch (error) {
    if (error instanceof WorkflowFileError) throw error;
    const why = systemCode(error) ?? 'an error';
    if (why === 'ENOENT') return undefined;
    throw new WorkflowFileError('WORKFLOW_FILE_UNREADABLE', asked, why, { cause: error });
  }
};

/** Reads files inside a repository and refuses every other path. */
export const readInside =
  (root: string): ReadFile =>
  (path) => {
    const target = confine(root, path);
    return target === undefined ? undefined : readPlace(target.real, path);
  };
