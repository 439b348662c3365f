/** Why a path is none of the repository, or the path without detours. */
export type RepositoryPath = { readonly path: string } | { readonly refused: string };

const refusalOf = (path: string): string | undefined => {
  if (path === '') return 'an empty path';
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) return 'an absolute path';
  return /[\\\0]/.test(path) ? 'a path with a character that separates no folders' : undefined;
};

/** A path as seen from a folder of the repository, written from its top. Links of the file system are the reader's affair. */
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
