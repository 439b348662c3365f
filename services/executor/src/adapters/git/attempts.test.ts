import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type StageRepository, stageRepository } from '../../../testing/stage-repository.ts';
import { beginAttempt, forgetAttempts } from './attempts.ts';
import { createGit } from './git.ts';

let repository: StageRepository;
let root: string;
beforeEach(async () => {
  repository = await stageRepository();
  root = join(repository.path, 'worktree');
  await createGit(repository, { env: repository.env }).createBranch('topic');
  await createGit(repository, { env: repository.env }).worktreeAdd(root, { branch: 'topic' });
});
afterEach(() => repository.remove());

const begin = (effectId: string, running: readonly string[] = []) =>
  beginAttempt({ root, parts: { env: repository.env } }, effectId, new Set(running));
const inside = (...argv: readonly string[]): string =>
  execFileSync('git', [...argv], {
    cwd: root,
    env: { ...repository.env },
    encoding: 'utf8',
    stdio: 'pipe',
  }).trimEnd();
const write = (path: string, text: string): void => writeFileSync(join(root, path), text);
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const refs = (): readonly string[] =>
  repository.git('for-each-ref', '--format=%(refname)', 'refs/holdpoint').split('\n').filter(Boolean);
/** Everything that can be seen of a worktree. */
const seen = (): readonly string[] => [
  inside('status', '--porcelain=v1', '--untracked-files=all'),
  inside('rev-parse', 'HEAD'),
  inside('symbolic-ref', 'HEAD'),
  inside('diff'),
  inside('diff', '--cached'),
];

describe('an interrupted step gets its worktree back', () => {
  beforeEach(async () => {
    write('b.txt', 'b\n');
    write('run.sh', '#!/bin/sh\n');
    chmodSync(join(root, 'run.sh'), 0o755);
    symlinkSync('b.txt', join(root, 'link'));
    write('.gitignore', 'ignored/\n');
    inside('add', '--all');
    inside('commit', '--quiet', '--message=base');
    // Staged, changed after that, and untracked.
    write('a.txt', 'staged\n');
    inside('add', 'a.txt');
    write('a.txt', 'changed after that\n');
    write('untracked', 'mine\n');
    mkdirSync(join(root, 'ignored'));
    write('ignored/cache', 'kept');
  });

  test('files, index, branch and HEAD are restored after any change', async () => {
    const before = seen();
    expect(await begin('e-1')).toBe('begun');
    expect(seen()).toEqual(before);

    write('a.txt', 'by the attempt\n');
    write('.gitignore', 'ignored/\nhidden\n');
    write('hidden', 'hidden by the ignore file of the attempt');
    write('untracked', 'overwritten');
    mkdirSync(join(root, 'new/deep'), { recursive: true });
    write('new/deep/file', 'x');
    rmSync(join(root, 'b.txt'));
    rmSync(join(root, 'link'));
    mkdirSync(join(root, 'link'));
    write('link/now-a-folder', 'x');
    chmodSync(join(root, 'run.sh'), 0o644);
    inside('add', '--all');
    inside('commit', '--quiet', '--message=by the attempt');
    inside('checkout', '--quiet', '-b', 'elsewhere');
    write('a.txt', 'and not committed\n');
    // As git leaves it when it is killed.
    writeFileSync(join(inside('rev-parse', '--absolute-git-dir'), 'index.lock'), '');

    expect(await begin('e-1')).toBe('restored');
    expect(seen()).toEqual(before);
    expect(read('a.txt')).toBe('changed after that\n');
    expect(read('untracked')).toBe('mine\n');
    expect(existsSync(join(root, 'new'))).toBe(false);
    expect(existsSync(join(root, 'hidden'))).toBe(false);
    expect(lstatSync(join(root, 'link')).isSymbolicLink()).toBe(true);
    expect(lstatSync(join(root, 'run.sh')).mode & 0o100).toBe(0o100);
    expect(read('ignored/cache')).toBe('kept');
    // Nothing is lost: what the attempt had done is kept.
    expect(repository.git('show', 'refs/holdpoint/kept/e-1:files/a.txt')).toBe('and not committed');
    expect(repository.git('log', '-1', '--format=%s', 'refs/holdpoint/kept/e-1^')).toBe('by the attempt');
  });

  test('a worktree can be restored repeatedly, also after a finished step', async () => {
    const before = seen();
    for (const expected of ['begun', 'restored', 'restored']) {
      expect(await begin('e-1')).toBe(expected);
      expect(seen()).toEqual(before);
      write('a.txt', `${expected}\n`);
      inside('commit', '--quiet', '--all', '--message=done');
    }
  });

  test('a worktree with a merge under way is restored', async () => {
    inside('stash', '--quiet', '--include-untracked');
    inside('checkout', '--quiet', '-b', 'theirs');
    write('b.txt', 'theirs\n');
    inside('commit', '--quiet', '--all', '--message=theirs');
    inside('checkout', '--quiet', 'topic');
    write('b.txt', 'ours\n');
    inside('commit', '--quiet', '--all', '--message=ours');
    expect(() => inside('merge', 'theirs')).toThrow('Command failed: git merge theirs');
    const before = seen();
    expect(before[0]).toContain('UU b.txt');
    await begin('e-1');
    write('b.txt', 'resolved\n');
    inside('add', '--all');
    inside('commit', '--quiet', '--message=resolved');
    expect(await begin('e-1')).toBe('restored');
    expect(seen()).toEqual(before);
    write('b.txt', 'resolved\n');
    inside('commit', '--quiet', '--all', '--message=resolved');
    expect(inside('show', '-s', '--format=%P').split(' ')).toHaveLength(2);
  });

  test('a worktree is restored although a killed git still locks its branch', async () => {
    await begin('e-1');
    inside('commit', '--quiet', '--all', '--message=by the attempt');
    const lock = join(repository.root, '.git', 'refs', 'heads', 'topic.lock');
    writeFileSync(lock, '');
    utimesSync(lock, new Date(0), new Date(0));
    expect(await begin('e-1')).toBe('restored');
    expect(inside('log', '-1', '--format=%s')).toBe('base');
  });
});

describe('records of steps', () => {
  test('a record is deleted when the next step begins, unless its step is still running', async () => {
    await begin('e-1');
    await begin('e-2', ['e-1']);
    expect(refs()).toEqual(['refs/holdpoint/attempts/e-1', 'refs/holdpoint/attempts/e-2']);
    await begin('e-3');
    expect(refs()).toEqual(['refs/holdpoint/attempts/e-3']);
  });

  test('a record survives steps in other worktrees, and is removed with its own', async () => {
    await begin('e-1');
    const other = join(repository.path, 'other');
    const git = createGit(repository, { env: repository.env });
    await git.worktreeAdd(other, { branch: 'topic' });
    const parts = { env: repository.env };
    await beginAttempt({ root: other, parts }, 'e-2');
    expect(refs()).toHaveLength(2);
    await forgetAttempts({ root: repository.root, parts }, root);
    expect(refs()).toEqual(['refs/holdpoint/attempts/e-2']);
  });
});

test('a branch without a commit is restored as well', async () => {
  inside('checkout', '--quiet', '--orphan', 'fresh');
  inside('rm', '-rf', '--quiet', '.');
  await begin('e-1');
  write('x', 'x');
  inside('add', '--all');
  inside('commit', '--quiet', '--message=first');
  expect(await begin('e-1')).toBe('restored');
  expect(inside('symbolic-ref', 'HEAD')).toBe('refs/heads/fresh');
  expect(() => inside('rev-parse', '--verify', '--quiet', 'HEAD')).toThrow('Command failed');
  expect(existsSync(join(root, 'x'))).toBe(false);
});

test('steps in other worktrees may begin and end during a restore', async () => {
  const git = createGit(repository, { env: repository.env });
  const roots = await Promise.all(
    ['one', 'two', 'three', 'four'].map(async (name) => {
      await git.createBranch(name);
      await git.worktreeAdd(join(repository.path, name), { branch: name });
      return join(repository.path, name);
    }),
  );
  const parts = { env: repository.env };
  const stepsIn = async (place: string): Promise<readonly string[]> => {
    const ended: string[] = [];
    for (let step = 0; step < 8; step += 1)
      ended.push(
        await beginAttempt({ root: place, parts }, `e-${sha256Of(place).slice(0, 8)}-${String(step)}`),
      );
    return ended;
  };
  const all = await Promise.all(roots.map(stepsIn));
  expect(all.flat()).toEqual(Array.from({ length: 32 }, () => 'begun'));
});
