import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CleanFailure } from '../../ports/capability.ts';
import { type StageRepository, stageRepository } from '../../../testing/stage-repository.ts';
import { createGit, type Git } from './git.ts';
import { GitError, GitStopped } from './git-error.ts';

let repository: StageRepository;
let git: Git;
beforeEach(async () => {
  repository = await stageRepository();
  git = createGit(repository, { env: repository.env });
});
afterEach(() => repository.remove());

const tipOf = (ref: string): string => repository.git('rev-parse', ref);

describe('branches', () => {
  test('a branch is created from HEAD once', async () => {
    expect(await git.branchExists('draft/a')).toBe(false);
    expect(await git.createBranch('draft/a')).toBe(true);
    expect(await git.createBranch('draft/a')).toBe(false);
    expect(await git.tip('draft/a')).toBe(tipOf('main'));
    expect(repository.git('branch', '--show-current')).toBe('main');
  });

  test('a branch moves by compare-and-swap only', async () => {
    const first = tipOf('main');
    repository.write('a.txt', 'two\n');
    repository.git('commit', '--quiet', '--all', '--message=second');
    const second = tipOf('main');
    await git.createBranch('b', first);
    expect(await git.updateRef('refs/heads/b', second, second)).toBe(false);
    expect(await git.updateRef('refs/heads/b', second, undefined)).toBe(false);
    expect(await git.tip('b')).toBe(first);
    expect(await git.updateRef('refs/heads/b', second, first)).toBe(true);
    expect(await git.tip('b')).toBe(second);
    expect(await git.deleteBranch('b', first)).toBe(false);
    expect(await git.deleteBranch('b', second)).toBe(true);
    expect(await git.tip('b')).toBeUndefined();
  });

  test.each(['--force', '-D', '-', 'a..b', '@{-1}', '--output=owned', 'refs/heads/main', 'a\nb', ''])(
    'a branch cannot be called %j',
    async (name) => {
      await expect(git.createBranch(name)).rejects.toThrow(CleanFailure);
      await expect(git.tip(name)).rejects.toThrow(CleanFailure);
      const added = git.worktreeAdd(join(repository.root, 'w'), { branch: name });
      await expect(added).rejects.toThrow(CleanFailure);
      expect(repository.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
    },
  );

  test('branch names that a shell or a tag could misread are safe', async () => {
    repository.git('tag', 'v1');
    for (const name of [
      'v1',
      '$(touch owned)',
      '`touch owned`',
      "it's;touch owned",
      'a&b',
      'origin/main',
    ].map((name) => name.replaceAll(' ', '-'))) {
      expect(await git.createBranch(name)).toBe(true);
      const path = join(repository.path, 'worktree');
      await git.worktreeAdd(path, { branch: name });
      expect(await createGit(repository, { env: repository.env }, path).head()).toMatchObject({
        branch: name,
      });
      await git.worktreeRemove(path);
    }
  });
});

describe('commits', () => {
  test('a commit contains all changes and exactly the message', async () => {
    repository.write('new/ü "x"\n.txt', 'new');
    repository.write('-dash', 'x');
    repository.write(':(top)magic', 'x');
    repository.write('b.txt', 'b');
    repository.git('add', 'b.txt');
    repository.git('mv', 'a.txt', 'c.txt');
    rmSync(join(repository.root, 'b.txt'));
    await git.stage('all');
    const message = '# not a comment\n\n\n  spaces kept  \n-- ü';
    const commit = await git.commit(message);
    expect(commit).toBe(tipOf('HEAD'));
    expect(repository.git('log', '-1', '--format=%B').trimEnd()).toBe(message);
    expect(repository.git('status', '--porcelain')).toBe('');
    expect(repository.git('ls-tree', '-r', '-z', '--name-only', 'HEAD').split('\0').filter(Boolean)).toEqual([
      '-dash',
      ':(top)magic',
      'c.txt',
      'new/ü "x"\n.txt',
    ]);
    expect(await git.commit('again')).toBeUndefined();
  });

  test("a commit has the operator's identity, or Holdpoint's if none is configured", async () => {
    const author = (): string => repository.git('log', '-1', '--format=%an <%ae> %cn <%ce>');
    repository.write('a.txt', 'two\n');
    await git.stage(['a.txt']);
    await git.commit('by the operator');
    expect(author()).toBe('Ada <ada@example.org> Ada <ada@example.org>');
    repository.git('config', '--unset', 'user.name');
    repository.git('config', '--unset', 'user.email');
    repository.write('a.txt', 'three\n');
    await git.stage(['a.txt']);
    await git.commit('by nobody');
    expect(author()).toBe('Holdpoint <holdpoint@localhost> Holdpoint <holdpoint@localhost>');
  });

  test('a commit may be the first of a repository', async () => {
    const root = join(repository.path, 'empty');
    repository.git('init', '--quiet', root);
    const empty = createGit({ root }, { env: repository.env });
    expect(await empty.head()).toMatchObject({ commit: undefined });
    expect(await empty.commit('nothing')).toBeUndefined();
    await expect(empty.createBranch('b')).rejects.toThrow('there is no commit yet to make b from');
    writeFileSync(join(root, 'x'), '');
    await empty.stage('all');
    expect(await empty.commit('first')).toMatch(/^[0-9a-f]{40}$/);
  });

  test('a commit leaves out ignored files unless they are staged by force', async () => {
    repository.write('.gitignore', 'plans/\n');
    repository.write('plans/a.md', 'plan');
    await git.stage('all');
    await git.commit('all');
    expect(repository.git('ls-files', 'plans')).toBe('');
    await git.stage(['plans/a.md'], { force: true });
    expect(repository.git('ls-files', 'plans')).toBe('plans/a.md');
  });

  test('a commit leaves out nested repositories', async () => {
    repository.git('init', '--quiet', 'nested');
    repository.write('nested/x', 'x');
    repository.write('b.txt', 'b');
    await git.stage('all');
    expect(repository.git('diff', '--cached', '--name-only')).toBe('b.txt');
  });

  test('a new worktree waits for another one whose files are being written', async () => {
    await git.createBranch('one');
    await git.createBranch('two');
    await git.worktreeAdd(join(repository.path, 'one'), { branch: 'one' });
    const file = join(repository.root, '.git', 'worktrees', 'one', 'commondir');
    const content = readFileSync(file, 'utf8');
    writeFileSync(file, '');
    setTimeout(() => writeFileSync(file, content), 300);
    await git.worktreeAdd(join(repository.path, 'two'), { branch: 'two' });
    expect(existsSync(join(repository.path, 'two', '.git'))).toBe(true);
  });

  test('a commit waits for another process that holds the index', async () => {
    const lock = join(repository.root, '.git', 'index.lock');
    writeFileSync(lock, '');
    repository.write('a.txt', 'two\n');
    setTimeout(() => rmSync(lock), 300);
    await git.stage('all');
    expect(await git.commit('after')).toMatch(/^[0-9a-f]{40}$/);
  });
});

test('merging without a work tree returns a tree, or the conflicting paths', async () => {
  const base = tipOf('main');
  const commitOn = (branch: string, path: string, text: string): string => {
    repository.git('checkout', '--quiet', '-B', branch, base);
    repository.write(path, text);
    repository.git('add', '--all');
    repository.git('commit', '--quiet', `--message=${branch}`);
    return tipOf('HEAD');
  };
  const ours = commitOn('ours', 'a.txt', 'ours\n');
  const theirs = commitOn('theirs', 'a.txt', 'theirs\n');
  const beside = commitOn('beside', 'b.txt', 'b\n');
  const clean = await git.mergeTree(ours, beside);
  expect(clean.conflicts).toEqual([]);
  const merged = await git.commitTree({ tree: clean.tree, parents: [ours, beside], message: 'merged\n' });
  expect(repository.git('show', `${merged}:b.txt`)).toBe('b');
  expect(await git.isAncestor(ours, merged)).toBe(true);
  expect(await git.isAncestor(merged, ours)).toBe(false);
  expect(await git.diffstat(ours, merged)).toContain('b.txt');
  const conflict = await git.mergeTree(ours, theirs);
  expect(conflict.conflicts).toEqual(['a.txt']);
  expect(conflict.messages).toContain('CONFLICT (content): Merge conflict in a.txt');
  expect((await git.fileAt(conflict.tree, 'a.txt'))?.toString()).toContain('<<<<<<<');
  expect(await git.fileAt(ours, 'gone')).toBeUndefined();
});

describe('worktrees', () => {
  test('worktrees are created, listed and removed, also for a checked-out branch', async () => {
    const path = join(repository.path, 'a worktree');
    await git.worktreeAdd(path, { branch: 'main' });
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('one\n');
    expect(await git.worktreeList()).toEqual([
      { path: repository.root, head: tipOf('main'), branch: 'main', prunable: false },
      { path, head: tipOf('main'), branch: 'main', prunable: false },
    ]);
    writeFileSync(join(path, 'untracked'), '');
    await git.worktreeRemove(path);
    expect(existsSync(path)).toBe(false);
    await git.worktreeAdd(path, { commit: tipOf('main') });
    expect(await git.worktreeList()).toMatchObject([{}, { path, branch: undefined }]);
    rmSync(path, { recursive: true });
    expect(await git.worktreeList()).toMatchObject([{}, { prunable: true }]);
    await git.worktreePrune();
    expect(await git.worktreeList()).toHaveLength(1);
  });
});

describe('git errors', () => {
  test('a failed command throws the message of git', async () => {
    const error = await git.run(['rev-parse', '--verify', 'nothing']).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(GitError);
    expect(String(error)).toContain('git rev-parse: fatal: Needed a single revision');
  });

  test('a stopped command throws another error', async () => {
    const stopped = createGit(repository, { env: repository.env, signal: AbortSignal.abort() });
    await expect(stopped.head()).rejects.toThrow(GitStopped);
  });

  test('a folder without a repository is an error, even inside another repository', async () => {
    mkdirSync(join(repository.root, 'sub'));
    const below = createGit(repository, { env: repository.env }, join(repository.root, 'sub'));
    await expect(below.stage('all')).rejects.toThrow('not a git repository');
  });
});
