import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '@holdpoint/infra/local/run';
import { readSavedWork, type SavedWork } from './saved-work.ts';
import { STATE } from './agent-failures.ts';
import { readWorkBook, type WorkLine } from './script-log.ts';

const WITHIN_MS = 30_000;

/** A repository for tasks and the log of their scripts. */
export type ScratchRepository = {
  readonly root: string;
  readonly book: string;
  readonly work: () => Promise<readonly WorkLine[]>;
  readonly saved: () => Promise<readonly SavedWork[]>;
};

/** Where the scripts note what they did. Work may write it, which lies outside its worktree. */
export const bookFolderIn = (folder: string): string => join(folder, 'book');

export const repositoriesIn = (folder: string): string => join(folder, 'repositories');

export const makeScratchRepository = async (folder: string): Promise<ScratchRepository> => {
  const root = join(repositoriesIn(folder), 'scratch');
  await mkdir(root, { recursive: true });
  const git = (...words: readonly string[]): Promise<string> =>
    run('git', ['-C', root, '-c', 'user.name=torture', '-c', 'user.email=torture@localhost', ...words], {
      timeoutMs: WITHIN_MS,
    });
  await git('init', '--quiet', '--initial-branch=main');
  await writeFile(join(root, STATE.file), `${STATE.first}\n`);
  // Worktrees lie in the repository and are not part of it.
  await writeFile(join(root, '.gitignore'), '.holdpoint/\n');
  await git('add', '--all');
  await git('commit', '--quiet', '--message=first');
  const book = join(bookFolderIn(folder), 'work.log');
  return { root, book, work: () => readWorkBook(book), saved: () => readSavedWork(root) };
};
