import { lstat, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git } from '../../../adapters/git/git.ts';

/** A file that differs between two commits; without an id it is deleted. */
export type FileChange = {
  readonly path: string;
  readonly from: string | undefined;
  readonly to: string | undefined;
};

const idOf = (id = ''): string | undefined => (/^0*$/.test(id) ? undefined : id);

export const changesBetween = async (git: Git, from: string, to: string): Promise<readonly FileChange[]> => {
  const argv = [
    'diff-tree',
    '-r',
    '-z',
    '--raw',
    '--no-abbrev',
    '--no-renames',
    '--end-of-options',
    from,
    to,
  ];
  const fields = await git.list(argv);
  return fields.flatMap((field, at) => {
    if (!field.startsWith(':') || at % 2 === 1) return [];
    const [, , oldId, newId] = field.split(' ');
    return [{ path: fields[at + 1] ?? '', from: idOf(oldId), to: idOf(newId) }];
  });
};

/** The object id of a file in the checkout; undefined when it does not exist. */
const idInCheckout = async (git: Git, path: string): Promise<string | undefined> => {
  const place = join(git.root, path);
  const found = await lstat(place).catch(() => undefined);
  if (found === undefined) return undefined;
  if (found.isSymbolicLink()) {
    return git.text(['hash-object', '--stdin'], { stdin: await readlink(place, 'buffer') });
  }
  return found.isFile() ? git.text(['hash-object', '--', path]) : 'not a file';
};

const indexOf = async (git: Git): Promise<ReadonlyMap<string, string>> => {
  const entries = await git.list(['ls-files', '-z', '--stage']);
  return new Map(
    entries.map((entry) => [entry.slice(entry.indexOf('\t') + 1), entry.split(' ')[1] ?? ''] as const),
  );
};

/**
 * Whether every file of a checkout and its index equals one of two commits: then an update between the two was
 * interrupted, and finishing it loses no other changes.
 */
export const isBetween = async (git: Git, from: string, to: string): Promise<boolean> => {
  const changes = new Map((await changesBetween(git, from, to)).map((change) => [change.path, change]));
  const status = await git.status();
  if (status.some(({ code, path }) => code !== '??' && !changes.has(path))) return false;
  const index = await indexOf(git);
  for (const change of changes.values()) {
    const ids = [await idInCheckout(git, change.path), index.get(change.path)];
    if (ids.some((id) => id !== change.from && id !== change.to)) return false;
  }
  return true;
};
