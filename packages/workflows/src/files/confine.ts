import { lstatSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { systemCode, WorkflowFileError } from './file-error.ts';

/** Where a path leads once its symbolic links are followed. */
export type ConfinedPath = {
  /** Absolute, without any link in it. */
  readonly real: string;
  /** From the top of the repository, with forward slashes. */
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
    ? new WorkflowFileError('WORKFLOW_PATH_REFUSED', path, `a path that leads nowhere (${why})`, { cause })
    : new WorkflowFileError('WORKFLOW_FILE_UNREADABLE', path, why, { cause });
};

/** Undefined where nothing is. */
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

/** The deepest folder on the way that is there. A link that leads to nothing may lead anywhere: it counts as outside. */
const deepestOf = (path: string, asked: string): string | undefined => {
  const real = realOf(path, asked);
  if (real !== undefined) return real;
  let link: boolean;
  try {
    link = isLink(path);
  } catch (cause) {
    // Something on the way is no folder.
    if (!MISSING.has(systemCode(cause) ?? '')) throw unreadable(asked, cause);
    link = false;
  }
  const above = dirname(path);
  return link || above === path ? undefined : deepestOf(above, asked);
};

const leadsOut = (path: string): WorkflowFileError =>
  new WorkflowFileError('WORKFLOW_PATH_REFUSED', path, 'a path that leads out of the repository');

/**
 * Where a path leads, or undefined where nothing is. Symbolic links are followed first, and whatever is outside of the
 * root then is refused, so that it cannot even be learnt whether it is there.
 */
export const confine = (root: string, path: string): ConfinedPath | undefined => {
  const base = realpathSync(root);
  const wanted = resolve(base, path);
  const deepest = deepestOf(wanted, path);
  if (deepest === undefined || !isWithin(base, deepest)) throw leadsOut(path);
  const real = realOf(wanted, path);
  if (real === undefined) return undefined;
  // Between the two looks a link may have changed.
  if (!isWithin(base, real)) throw leadsOut(path);
  return { real, file: relative(base, real).split(sep).join('/') };
};
