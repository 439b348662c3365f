import { lstat } from 'node:fs/promises';
import { join, normalize } from 'node:path/posix';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { CleanFailure } from '../../ports/capability.ts';
import type { GitExec } from './exec.ts';
import { filtersIn } from './hardening.ts';

/** `code` as in `git status --porcelain`: `M `, ` M`, `??`, `UU`, ... */
export type StatusEntry = { readonly code: string; readonly path: string; readonly from?: string };

/** What is not committed: staged, changed, and untracked; what is ignored is not named. */
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
 * What differs from the index, as paths that can be staged. Of a submodule that is its commit, and nothing else: git would look
 * at its files with the configuration that it finds there.
 */
const changesIn = async (exec: GitExec): Promise<readonly string[]> => {
  const entries = (await statusOf(exec)).filter(
    // A folder is only named when it is a repository of its own, which somebody has made there.
    ({ code, path }) => code[1] !== ' ' && !path.endsWith('/'),
  );
  return entries.flatMap(({ path, from }) => (from === undefined ? [path] : [path, from]));
};

/**
 * Refuses files that cannot be read or written without a filter (such as those of Git LFS): filters are programs that the
 * configuration names, and committing such a file without its filter would commit something else.
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
        `${path} needs the filter "${filter}" of the git configuration (see .gitattributes); filters are programs, and none are run here`,
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

/** Puts files into the index as they are in the work tree: changed, new, or gone. */
const addFiles = async (exec: GitExec, root: string, paths: readonly string[]): Promise<void> => {
  await refuseFilters(exec, paths);
  const there: string[] = [];
  const gone: string[] = [];
  for (const path of paths) ((await isPresent(root, path)) ? there : gone).push(path);
  if (there.length > 0)
    await exec.run(['add', '--all', '--pathspec-from-file=-', '--pathspec-file-nul'], {
      stdin: lines(there),
    });
  // What is in neither the index nor the work tree any more cannot be added: it is taken out of the index by name.
  if (gone.length > 0)
    await exec.run(['update-index', '--force-remove', '-z', '--stdin'], { stdin: lines(gone) });
};

const isBelow = (path: string, wanted: string): boolean => {
  const folder = normalize(wanted).replace(/\/$/, '');
  return folder === '.' || path === folder || path.startsWith(`${folder}/`);
};

/** What is neither changed nor known to git: it says itself what is wrong with that. */
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

/** Stages what has changed, all of it or what lies below some paths. By force, it stages files though they are ignored. */
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

/** Commits the index as it is, with exactly this message. */
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
