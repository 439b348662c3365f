import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { resolve } from 'node:path';

const canRun = async (path: string): Promise<boolean> => {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    // Whatever keeps it from being looked at keeps it from being run.
    return false;
  }
};

/** Where a program is, as a shell would find it; `undefined` when it is nowhere. */
export const findProgram = async (
  name: string,
  cwd: string,
  path: string | undefined,
): Promise<string | undefined> => {
  if (name === '' || name.includes('\0')) return undefined;
  if (name.includes('/')) {
    const there = resolve(cwd, name);
    return (await canRun(there)) ? there : undefined;
  }
  // An empty part of PATH would mean the current folder: whoever writes a file there could replace any program.
  for (const folder of (path ?? '').split(':').filter((part) => part.startsWith('/'))) {
    const there = resolve(folder, name);
    if (await canRun(there)) return there;
  }
  return undefined;
};
