import { lstatSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { systemCode, WorkflowFileError } from './file-error.ts';

/** A path with its symbolic links resolved. */
export type ConfinedPath = {
  /** Absolute, without symbolic links. */
  readonly real: string;
  /** Relative to the root, with forward slashes. */
  readonly file: string;
};

export const isWithin = (base: string, path: string): boolean => {
  const way = relative(base, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
};

const MISSING: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR']);

const unreadable = (path: string, cause: unknown): WorkflowFileError => {
  const why = systemCode(cause) ?? 'an error';
  return why === 'ELOOP' || why === 'ENAMETOOLONG' || why === 'ERR_INVALID_ARG_VALUE'
    ? new WorkflowFileError('WORKFLOW_PATH_REFUSED', path, `an invalid path (${why})`, { cause })
    : new WorkflowFileError('WORKFLOW_FILE_UNREADABLE', path, why, { cause });
};

/** Undefined when nothing exists there. */
const realOf = (path: string, asked: string): string | undefined => {
  try {
    return realpathSync(path);
  } catch (cause) {
    if (MISSING.has(systemCode(cause) ?? '')) return undefined;
    throw unreadable(asked, cause);
  }
};

const isLink = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;

/** The deepest existing folder of a path. A dangling link may lead anywhere, so it counts as outside. */
const deepestOf = (path: string, asked: string): string | undefined => {
  const real = realOf(path, asked);
  if (real !== undefined) return real;
  let link: boolean;
  try {
    link = isLink(path);
  } catch (cause) {
    // A component of the path is not a folder.
    if (!MISSING.has(systemCode(cause) ?? '')) throw unreadable(asked, cause);
    link = false;
  }
  const above = dirname(path);
  return link || above === path ? undefined : deepestOf(above, asked);
};

const leadsOut = (path: string): WorkflowFileError =>
  new WorkflowFileError('WORKFLOW_PATH_REFUSED', path, 'a path outside of the repository');

/**
 * Resolves a path, or returns undefined when nothing exists there. A path outside of the root is refused
 * before the check for existence, so that a caller cannot probe the file system.
 */
export const confine = (root: string, path: string): ConfinedPath | undefined => {
  const base = realpathSync(root);
  const wanted = resolve(base, path);
  const deepest = deepestOf(wanted, path);
  if (deepest === undefined || !isWithin(base, deepest)) throw leadsOut(path);
  const real = realOf(wanted, path);
  if (real === undefined) return undefined;
  // A link may have changed between the two checks.
  if (!isWithin(base, real)) throw leadsOut(path);
  return { real, file: relative(base, real).split(sep).join('/') };
};
