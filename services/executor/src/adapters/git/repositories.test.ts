import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CleanFailure } from '../../ports/capability.ts';
import { type StageRepository, stageRepository } from '../../../testing/stage-repository.ts';
import { createRepositories } from './repositories.ts';

let repository: StageRepository;
beforeEach(async () => {
  repository = await stageRepository();
});
afterEach(() => repository.remove());

const refusalOf = async (made: Promise<unknown>): Promise<string> => {
  const error = await made.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof CleanFailure)) throw new Error(`not refused: ${String(error)}`);
  return `${error.body.code}: ${error.body.message}`;
};
const open = (path: string, allowed: readonly string[] = [repository.path]) =>
  createRepositories(allowed, repository.env).open(path);

describe('opening a repository', () => {
  test('a repository opens inside an allowed folder, or as one', async () => {
    expect(await open(repository.root)).toMatchObject({
      root: repository.root,
      commonDir: join(repository.root, '.git'),
    });
    expect(await open(repository.root, ['/nowhere', repository.root])).toMatchObject({
      root: repository.root,
    });
  });

  test('a repository is identified by its real path', async () => {
    const link = join(repository.path, 'link');
    symlinkSync(repository.root, link);
    expect(await open(link)).toMatchObject({ root: repository.root });
    symlinkSync(repository.path, join(repository.path, 'allowed'));
    expect(await open(repository.root, [join(repository.path, 'allowed')])).toMatchObject({
      root: repository.root,
    });
  });

  test('a repository elsewhere is refused, also through a link, and the error names the setting', async () => {
    const allowed = join(repository.path, 'allowed');
    mkdirSync(allowed);
    symlinkSync(repository.root, join(allowed, 'link'));
    const found = /^EXECUTOR_REPOSITORY_NOT_ALLOWED: .*not inside an allowed folder.*HOLDPOINT_REPOSITORIES/;
    expect(await refusalOf(open(repository.root, [allowed]))).toMatch(found);
    expect(await refusalOf(open(join(allowed, 'link'), [allowed]))).toMatch(found);
    expect(await refusalOf(open(repository.root, []))).toMatch(found);
    expect(await refusalOf(open(repository.root, [`${repository.root}x`]))).toMatch(found);
  });

  test('only the top folder of a work tree is a repository', async () => {
    mkdirSync(join(repository.root, 'sub'));
    expect(await refusalOf(open(join(repository.root, 'sub')))).toMatch(
      /not the top folder of a git work tree/,
    );
    expect(await refusalOf(open(join(repository.root, '.git')))).toMatch(
      /not the top folder of a git work tree/,
    );
    expect(await refusalOf(open(join(repository.root, 'a.txt')))).toMatch(
      /not the top folder of a git work tree/,
    );
    expect(await refusalOf(open(repository.path))).toMatch(/not the top folder of a git work tree/);
    repository.git('init', '--quiet', '--bare', '../bare');
    expect(await refusalOf(open(join(repository.path, 'bare')))).toMatch(
      /not the top folder of a git work tree/,
    );
    expect(await refusalOf(open(join(repository.path, 'gone')))).toMatch(/does not exist/);
    expect(await refusalOf(open('repository'))).toMatch(/not an absolute path/);
  });

  test('a repository that claims another work tree is refused', async () => {
    repository.git('config', 'core.worktree', repository.path);
    expect(await refusalOf(open(repository.root))).toMatch(
      /not the top|not the top folder of its repository/,
    );
  });

  test('a repository with refs outside the allowed folders is refused', async () => {
    const worktree = join(repository.path, 'mine', 'worktree');
    repository.git('worktree', 'add', '--quiet', worktree);
    expect(await refusalOf(open(worktree, [join(repository.path, 'mine')]))).toMatch(
      /belongs to a repository outside the allowed folders/,
    );
    expect(await open(worktree)).toMatchObject({ root: worktree, commonDir: join(repository.root, '.git') });
  });
});

describe('paths in a repository', () => {
  test('a missing path inside resolves to its real location', async () => {
    const { inside } = await open(repository.root);
    expect(await inside('a.txt')).toBe(join(repository.root, 'a.txt'));
    expect(await inside('new/folder/file')).toBe(join(repository.root, 'new/folder/file'));
    mkdirSync(join(repository.root, 'real'));
    symlinkSync('real', join(repository.root, 'link'));
    expect(await inside('link/file')).toBe(join(repository.root, 'real/file'));
    expect(await inside('file', join(repository.root, 'real'))).toBe(join(repository.root, 'real/file'));
  });

  test.each([
    ['../x', 'contains ..'],
    ['a/../../x', 'contains ..'],
    ['a\\..\\x', 'contains ..'],
    ['/etc/passwd', 'is not relative'],
    ['a\0b', 'is not relative'],
    ['out/x', 'leads out'],
    ['nothing', 'a dangling link'],
    ['nothing/x', 'a dangling link'],
    ['.git/hooks/pre-commit', "git's own folder"],
    ['.GIT/config', "git's own folder"],
    ['into/config', "git's own folder"],
  ])('the path %j is refused', async (path, why) => {
    symlinkSync(repository.path, join(repository.root, 'out'));
    symlinkSync(join(repository.path, 'nobody'), join(repository.root, 'nothing'));
    symlinkSync('.git', join(repository.root, 'into'));
    const { inside } = await open(repository.root);
    const refusal = await refusalOf(inside(path));
    expect(refusal.startsWith(`EXECUTOR_PATH_REFUSED: ${JSON.stringify(path)} `)).toBe(true);
    expect(refusal).toContain(why);
  });

  test('a path that leaves its worktree is refused, even inside the repository', async () => {
    const { inside } = await open(repository.root);
    mkdirSync(join(repository.root, 'sub'));
    writeFileSync(join(repository.root, 'secret'), '');
    symlinkSync('../secret', join(repository.root, 'sub', 'link'));
    expect(await refusalOf(inside('link', join(repository.root, 'sub')))).toContain('leads out');
    expect(await refusalOf(inside('x', repository.path))).toContain('leads out');
  });
});
