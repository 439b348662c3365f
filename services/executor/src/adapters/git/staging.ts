import { lstat } from 'node:fs/promises';
import { join, normalize } from 'node:path/posix';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { CleanFailure } from '../../ports/capability.ts';
import type { GitExec } from './exec.ts';
import { filtersIn } from './hardening.ts';

/** `code` as in `git status --porcelain`: `M `, ` M`, `??`, `UU`, ... */
export type StatusEntry = { readonly code: string; readonly path: string; readonly from?: string };

/** Uncommitted files: staged, changed and untracked, without ignored ones. */
export const statusOf = async ({ list }: Pick<GitExec, 'list'>): Promise<readonly StatusEntry[]> => {
  const fields = await list([
    '--no-optional-locks',
    'status',
    '--porcelain=v1',
    '-z',
    '--untracked-files=all',
    '--ignore-submodules=dirty',
    '--renames',
  ]);
  const entries: StatusEntry[] = [];
  for (let at = 0; at < fields.length; at += 1) {
    const field = fields[at] ?? '';
    const code = field.slice(0, 2);
    const renamed = /[RC]/.test(code);
    if (renamed) at += 1;
    const from = renamed ? fields[at] : undefined;
    entries.push({ code, path: field.slice(3), ...(from !== undefined && { from }) });
  }
  return entries;
};

/**
 * Paths that differ from the index and can be staged. Of a submodule only its commit counts: to look at its files,
 * git would use the configuration inside.
 */
const changesIn = async (exec: GitExec): Promise<readonly string[]> => {
  const entries = (await statusOf(exec)).filter(
    // A folder is listed only if it is a nested repository.
    ({ code, path }) => code[1] !== ' ' && !path.endsWith('/'),
  );
  return entries.flatMap(({ path, from }) => (from === undefined ? [path] : [path, from]));
};

/**
 * Refuses files that need a filter, such as those of Git LFS. Filters are configured programs, and without its
 * filter such a file would be committed wrongly.
 */
export const refuseFilters = async (
  exec: GitExec,
  paths: readonly string[],
  from: 'files' | 'index' = 'files',
): Promise<void> => {
  const filters = filtersIn(await exec.config());
  if (filters.size === 0 || paths.length === 0) return;
  const fields = await exec.list(
    ['check-attr', '-z', '--stdin', ...(from === 'index' ? ['--cached'] : []), 'filter'],
    { stdin: paths.map((path) => `${path}\0`).join('') },
  );
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [path = '', , filter = ''] = fields.slice(at, at + 3);
    if (!filters.has(filter)) continue;
    throw new CleanFailure(
      errorBody(
        'EXECUTOR_TARGET_REFUSED',
        `${path} needs the git filter "${filter}" (see .gitattributes), and filters are disabled here`,
      ),
    );
  }
};

const lines = (paths: readonly string[]): string => paths.map((path) => `${path}\0`).join('');

const isPresent = (root: string, path: string): Promise<boolean> =>
  lstat(join(root, path)).then(
    () => true,
    () => false,
  );

/** Stages files as they are in the work tree: changed, new, or deleted. */
const addFiles = async (exec: GitExec, root: string, paths: readonly string[]): Promise<void> => {
  await refuseFilters(exec, paths);
  const there: string[] = [];
  const gone: string[] = [];
  for (const path of paths) ((await isPresent(root, path)) ? there : gone).push(path);
  if (there.length > 0)
    await exec.run(['add', '--all', '--pathspec-from-file=-', '--pathspec-file-nul'], {
      stdin: lines(there),
    });
  // A path that is in neither the index nor the work tree must be removed from the index by name.
  if (gone.length > 0)
    await exec.run(['update-index', '--force-remove', '-z', '--stdin'], { stdin: lines(gone) });
};

const isBelow = (path: string, wanted: string): boolean => {
  const folder = normalize(wanted).replace(/\/$/, '');
  return folder === '.' || path === folder || path.startsWith(`${folder}/`);
};

/** Lets git itself report the problem of an unknown path. */
const addUnknown = async (
  exec: GitExec,
  wanted: readonly string[],
  changed: readonly string[],
): Promise<void> => {
  for (const path of wanted.filter((one) => !changed.some((other) => isBelow(other, one)))) {
    const known = await exec.list(['ls-files', '-z', '--', path]);
    if (known.length === 0) await exec.run(['add', '--all', '--', path]);
  }
};

/** Stages all changes, or those below some paths. `force` includes ignored files. */
export const stageWith = async (
  exec: GitExec,
  root: string,
  wanted: readonly string[] | 'all',
  { force = false }: { readonly force?: boolean } = {},
): Promise<void> => {
  if (force && wanted !== 'all') {
    await refuseFilters(exec, wanted);
    const argv = ['add', '--force', '--pathspec-from-file=-', '--pathspec-file-nul'];
    if (wanted.length > 0) await exec.run(argv, { stdin: lines(wanted) });
    return;
  }
  const changed = await changesIn(exec);
  if (wanted === 'all') return addFiles(exec, root, changed);
  await addUnknown(exec, wanted, changed);
  const isWanted = (path: string): boolean => wanted.some((one) => isBelow(path, one));
  return addFiles(exec, root, changed.filter(isWanted));
};

const DIFFERENT = 1;

/** Commits the index with exactly this message. */
export const commitWith = async (exec: GitExec, message: string): Promise<string | undefined> => {
  const born =
    (await exec.run(['rev-parse', '--verify', '--quiet', 'HEAD'], { answers: [0, 1] })).exitCode === 0;
  const staged = born
    ? (
        await exec.run(['diff-index', '--cached', '--quiet', '--ignore-submodules=dirty', 'HEAD', '--'], {
          answers: [0, DIFFERENT],
        })
      ).exitCode === DIFFERENT
    : (await exec.list(['ls-files', '-z', '--cached'])).length > 0;
  if (!staged) return undefined;
  await exec.run(['commit', '--quiet', '--no-verify', '--no-gpg-sign', '--cleanup=verbatim', '--file=-'], {
    stdin: message,
  });
  return exec.text(['rev-parse', '--verify', 'HEAD']);
};
