import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { resolve } from 'node:path';

const canRun = async (path: string): Promise<boolean> => {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    // A file that cannot be inspected cannot be run.
    return false;
  }
};

/** The path of a command, as a shell would find it; undefined if it is not found. */
export const findCommand = async (
  name: string,
  cwd: string,
  path: string | undefined,
): Promise<string | undefined> => {
  if (name === '' || name.includes('\0')) return undefined;
  if (name.includes('/')) {
    const there = resolve(cwd, name);
    return (await canRun(there)) ? there : undefined;
  }
  // An empty part of PATH means the current folder, where any writer of a file could replace a command.
  for (const folder of (path ?? '').split(':').filter((part) => part.startsWith('/'))) {
    const there = resolve(folder, name);
    if (await canRun(there)) return there;
  }
  return undefined;
};
