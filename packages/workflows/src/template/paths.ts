/** A normalised path of the repository, or the reason why a path is refused. */
export type RepositoryPath = { readonly path: string } | { readonly refused: string };

const refusalOf = (path: string): string | undefined => {
  if (path === '') return 'an empty path';
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) return 'an absolute path';
  return /[\\\0]/.test(path) ? 'a path with a backslash or NUL' : undefined;
};

/** Resolves a path relative to a folder of the repository. The file reader checks symbolic links. */
export const repositoryPath = (folder: string, path: string): RepositoryPath => {
  const refused = refusalOf(path);
  if (refused !== undefined) return { refused };
  const parts: string[] = [];
  for (const part of [...folder.split('/'), ...path.split('/')]) {
    if (part === '..' && parts.pop() === undefined) return { refused: 'a path that leaves the repository' };
    if (part !== '' && part !== '.' && part !== '..') parts.push(part);
  }
  return parts.length === 0 ? { refused: 'the repository itself' } : { path: parts.join('/') };
};

export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));
