import { mkdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { CleanFailure } from '../../ports/capability.ts';
import { followed, isWithin } from './real-path.ts';

const leadsOut = (): CleanFailure =>
  new CleanFailure(
    errorBody(
      'EXECUTOR_PATH_REFUSED',
      'The path leads out of HOLDPOINT_WORKSPACE of the executor: use a path inside it',
    ),
  );

const inside = (base: string, path: string): boolean => path !== base && isWithin(base, path);

/** The real path of a folder. Missing parts are created, but only inside the workspace. */
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
      errorBody('EXECUTOR_TARGET_REFUSED', 'Cannot create the folder of the path'),
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

/** Resolves a path of an effect inside the workspace, symbolic links first. Paths that lead out are refused. */
export const createWorkspace = (root: string) => ({
  resolve: async (path: string): Promise<string> => {
    const { base, wanted } = await within(root, path);
    const target = await followed(join(await makeFolder(base, dirname(wanted)), basename(wanted)));
    if (target === undefined || !inside(base, target)) throw leadsOut();
    return target;
  },
  /**
   * The path for a whole file: links of its folder are followed, its own name never is. `make` creates missing
   * folders; without it nothing changes.
   */
  place: async (path: string, { make }: { readonly make: boolean }): Promise<string> => {
    const { base, wanted } = await within(root, path);
    const folder = make ? await makeFolder(base, dirname(wanted)) : await followed(dirname(wanted));
    if (folder === undefined || (folder !== base && !inside(base, folder))) throw leadsOut();
    return join(folder, basename(wanted));
  },
});
