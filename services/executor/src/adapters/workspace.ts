import { mkdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { errorBody } from '@holdpoint/contracts/errors';
import { CleanFailure } from '../capabilities/capability.ts';

/** Resolves a path of an effect inside the workspace, symbolic links first; anything that leads out is refused. */
export const createWorkspace = (root: string) => {
  const inside = (base: string, path: string): boolean => {
    const way = relative(base, path);
    return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && resolve(base, way) === path;
  };
  return {
    resolve: async (path: string): Promise<string> => {
      const refused = new CleanFailure(
        errorBody('EXECUTOR_PATH_REFUSED', 'the path leads out of the workspace'),
      );
      if (path.includes('\0')) throw refused;
      const base = await realpath(root);
      const wanted = resolve(base, path);
      if (!inside(base, wanted)) throw refused;
      await mkdir(dirname(wanted), { recursive: true });
      const folder = await realpath(dirname(wanted));
      const target = await realpath(wanted).catch(() => join(folder, basename(wanted)));
      if (!inside(base, target)) throw refused;
      return target;
    },
  };
};
