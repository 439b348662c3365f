import { mkdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { CleanFailure } from '../../ports/capability.ts';
import { followed, isWithin } from './real-path.ts';

const leadsOut = (): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_PATH_REFUSED', 'the path leads out of the workspace'));

const inside = (base: string, path: string): boolean => path !== base && isWithin(base, path);

/** Where a folder really is. What is missing of it is made, but only below what is known to be inside. */
const makeFolder = async (base: string, folder: string): Promise<string> => {
  const there = await realpath(folder).catch(() => undefined);
  if (there !== undefined) {
    if (there !== base && !inside(base, there)) throw leadsOut();
    return there;
  }
  const made = join(await makeFolder(base, dirname(folder)), basename(folder));
  try {
    await mkdir(made, { recursive: true });
  } catch (cause) {
    throw new CleanFailure(
      errorBody('EXECUTOR_TARGET_REFUSED', 'the folder of the path cannot be made'),
      cause,
    );
  }
  return made;
};

const within = async (
  root: string,
  path: string,
): Promise<{ readonly base: string; readonly wanted: string }> => {
  if (path.includes('\0')) throw leadsOut();
  const base = await realpath(root);
  const wanted = resolve(base, path);
  if (!inside(base, wanted)) throw leadsOut();
  return { base, wanted };
};

export type Workspace = ReturnType<typeof createWorkspace>;

/** Resolves a path of an effect inside the workspace, symbolic links first; anything that leads out is refused. */
export const createWorkspace = (root: string) => ({
  resolve: async (path: string): Promise<string> => {
    const { base, wanted } = await within(root, path);
    const target = await followed(join(await makeFolder(base, dirname(wanted)), basename(wanted)));
    if (target === undefined || !inside(base, target)) throw leadsOut();
    return target;
  },
  /**
   * Where a file is put as a whole: its folder is where links lead, and its name is its own, so that a link of that name is
   * never followed. `make` makes what is missing of the folder; otherwise nothing is changed.
   */
  place: async (path: string, { make }: { readonly make: boolean }): Promise<string> => {
    const { base, wanted } = await within(root, path);
    const folder = make ? await makeFolder(base, dirname(wanted)) : await followed(dirname(wanted));
    if (folder === undefined || (folder !== base && !inside(base, folder))) throw leadsOut();
    return join(folder, basename(wanted));
  },
});
