import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';

/**
 * Resolves the links of an absolute path; a missing end stays below its nearest existing folder. Undefined for a
 * dangling link: its target may be created anywhere later.
 */
export const followed = async (path: string): Promise<string | undefined> => {
  const there = await realpath(path).catch(() => undefined);
  if (there !== undefined) return there;
  const entry = await lstat(path).catch(() => undefined);
  // It was created between the two looks by another process.
  if (entry !== undefined) return entry.isSymbolicLink() ? undefined : followed(path);
  const folder = await followed(dirname(path));
  return folder === undefined ? undefined : join(folder, basename(path));
};

/** Whether a path is the folder, or lies inside it. Both are absolute. */
export const isWithin = (folder: string, path: string): boolean => {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
};
