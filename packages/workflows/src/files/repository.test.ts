import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openRepository } from './repository.ts';
import { temporaryRepository } from '../../testing/repository.ts';

test('the repository is the nearest folder above with .git in it', () => {
  using repository = temporaryRepository();
  const deep = join(repository.root, 'a', 'b');
  mkdirSync(deep, { recursive: true });
  expect(openRepository(deep)).toEqual({ root: repository.root });
  expect(openRepository(repository.root)).toEqual({ root: repository.root });
});

test('a linked worktree is a separate repository', () => {
  using repository = temporaryRepository();
  repository.write('.holdpoint/worktrees/one/.git', 'gitdir: elsewhere');
  const worktree = join(repository.root, '.holdpoint', 'worktrees', 'one');
  expect(openRepository(worktree)).toEqual({ root: worktree });
});

test('the root has its symbolic links resolved', () => {
  using repository = temporaryRepository();
  const link = join(repository.outside, 'link');
  symlinkSync(repository.root, link);
  expect(openRepository(link)).toEqual({ root: repository.root });
});

test('a folder outside of any repository is an error with a code', () => {
  using repository = temporaryRepository();
  rmSync(join(repository.root, '.git'), { recursive: true });
  const error: unknown = expect.objectContaining({ code: 'WORKFLOW_NO_REPOSITORY', file: repository.root });
  expect(() => openRepository(repository.root)).toThrow(error);
  expect(() => openRepository(join(repository.root, 'missing'))).toThrow(
    expect.objectContaining({ code: 'WORKFLOW_NO_REPOSITORY' }),
  );
});

test('a dangling .git link is not a repository', () => {
  using repository = temporaryRepository();
  const inner = join(repository.root, 'inner');
  mkdirSync(inner);
  symlinkSync(join(repository.outside, 'missing'), join(inner, '.git'));
  writeFileSync(join(repository.root, 'inner', 'file'), '');
  expect(openRepository(inner)).toEqual({ root: repository.root });
});
