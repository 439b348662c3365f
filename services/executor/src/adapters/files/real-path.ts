import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';

/**
 * Where an absolute path really is, its links followed; what of it is missing stands below the nearest folder that is there.
 * `undefined` for a link that leads to nothing: it may lead anywhere, once somebody puts something there.
 */
export const followed = async (path: string): Promise<string | undefined> => {
  const there = await realpath(path).catch(() => undefined);
  if (there !== undefined) return there;
  const entry = await lstat(path).catch(() => undefined);
  // What is no link was made between the two looks, by somebody beside us.
  if (entry !== undefined) return entry.isSymbolicLink() ? undefined : followed(path);
  const folder = await followed(dirname(path));
  return folder === undefined ? undefined : join(folder, basename(path));
};

/** Whether a path is a folder, or lies in it. Both are absolute. */
export const isWithin = (folder: string, path: string): boolean => {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
};
