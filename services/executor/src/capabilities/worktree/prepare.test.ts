import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type Ordered,
  type StageRepository,
  stageRepository,
  stagesOf,
} from '../../../testing/stage-repository.ts';
import { CleanFailure } from '../../ports/capability.ts';

let repository: StageRepository;
beforeEach(async () => {
  repository = await stageRepository();
});
afterEach(() => repository.remove());

const prepare = (args: Record<string, string>, ordered: Ordered = {}) =>
  stagesOf(repository)('cap.env.builtin.worktree.prepare', {
    node: 'prepare',
    ...ordered,
    input: { with: args, ...ordered.input },
  });
const cleanUp = (worktree?: string) =>
  stagesOf(repository)('cap.env.builtin.worktree.cleanup', {
    node: 'clean',
    input: { context: { ...(worktree !== undefined && { worktree }), branch: 'draft/a' } },
  });
const WORK = '.holdpoint/worktrees/work-t-1-prepare';
const at = (path: string): string => join(repository.root, WORK, path);

describe('preparing a worktree', () => {
  test('a worktree and its branch are created from HEAD, and put into the context', async () => {
    expect(await prepare({ slug: 'a' })).toEqual({
      outcome: 'succeeded',
      detail: `created a worktree: ${WORK} on draft/a (new branch)`,
      context: { worktree: WORK, branch: 'draft/a', slug: 'a' },
      outputs: {
        worktree: WORK,
        branch: 'draft/a',
        slug: 'a',
        commit: repository.git('rev-parse', 'main'),
        reused: false,
      },
    });
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('one\n');
    expect(repository.git('-C', WORK, 'branch', '--show-current')).toBe('draft/a');
  });

  test.each([
    [{ branch: 'b', slug: 'a' }, {}, 'b'],
    [{ slug: 'a' }, { branch: 'of-the-context' }, 'of-the-context'],
    [{ plan: 'p' }, {}, 'draft/p'],
    [{ slug: '', plan: 'p' }, {}, 'draft/p'],
    [{}, { slug: 's' }, 'draft/s'],
  ])('a worktree of %j in the context %j is on %s', async (args, context, branch) => {
    const result = await prepare(args, { input: { context } });
    expect(result).toMatchObject({ outcome: 'succeeded', context: { branch } });
  });

  test('a worktree is named for its purpose, the task and the node', async () => {
    expect(await prepare({ slug: 'a', purpose: '../../x y' })).toMatchObject({
      context: { worktree: '.holdpoint/worktrees/x-y-t-1-prepare' },
    });
  });

  test('a worktree is reused with its content', async () => {
    await prepare({ slug: 'a' });
    writeFileSync(at('mine'), 'kept');
    expect(await prepare({ slug: 'a' }, { key: 'later' })).toMatchObject({ outputs: { reused: true } });
    expect(readFileSync(at('mine'), 'utf8')).toBe('kept');
  });

  test('another branch of the node gets another worktree, and both are reused', async () => {
    await prepare({ slug: 'a' });
    const other = await prepare({ slug: 'b' }, { key: 'b' });
    expect(other.context?.['worktree']).toMatch(/^\.holdpoint\/worktrees\/work-t-1-prepare-[0-9a-f]{8}$/);
    expect(await prepare({ slug: 'b' }, { key: 'b' })).toMatchObject({
      context: other.context,
      outputs: { reused: true },
    });
    expect(await prepare({ slug: 'a' })).toMatchObject({
      context: { worktree: WORK },
      outputs: { reused: true },
    });
  });

  test('concurrent requests create one worktree', async () => {
    const stage = stagesOf(repository);
    const results = await Promise.all(
      ['1', '2', '3'].map((key) =>
        stage('cap.env.builtin.worktree.prepare', { node: 'prepare', key, input: { with: { slug: 'a' } } }),
      ),
    );
    expect(results.map(({ outputs }) => outputs?.['worktree'])).toEqual([WORK, WORK, WORK]);
    expect(results.filter(({ outputs }) => outputs?.['reused'] === false)).toHaveLength(1);
  });

  test('an unfinished or missing worktree is created again', async () => {
    await prepare({ slug: 'a' });
    rmSync(join(repository.git('-C', WORK, 'rev-parse', '--absolute-git-dir'), 'holdpoint-ready'));
    rmSync(at('a.txt'));
    expect(await prepare({ slug: 'a' })).toMatchObject({ outputs: { reused: false } });
    expect(existsSync(at('a.txt'))).toBe(true);
    rmSync(at(''), { recursive: true });
    expect(await prepare({ slug: 'a' })).toMatchObject({ outputs: { reused: false } });
    expect(existsSync(at('a.txt'))).toBe(true);
  });

  test('a worktree may be of a branch that is checked out elsewhere', async () => {
    expect(await prepare({ branch: 'main' })).toMatchObject({ outcome: 'succeeded' });
  });

  test('a branch is taken over from worktrees of other tasks, which keep their files', async () => {
    await prepare({ slug: 'a' });
    writeFileSync(at('mine'), 'kept');
    const later = await prepare({ slug: 'a', purpose: 'later' });
    const LATER = '.holdpoint/worktrees/later-t-1-prepare';
    expect(later.detail).toBe(`created a worktree: ${LATER} on draft/a; ${WORK} is no longer on draft/a`);
    expect(repository.git('-C', LATER, 'branch', '--show-current')).toBe('draft/a');
    expect(repository.git('-C', WORK, 'branch', '--show-current')).toBe('');
    expect(repository.git('-C', WORK, 'rev-parse', 'HEAD')).toBe(repository.git('rev-parse', 'draft/a'));
    expect(readFileSync(at('mine'), 'utf8')).toBe('kept');
  });

  test('a branch stays with a checkout that no task created', async () => {
    repository.git('worktree', 'add', '--quiet', '-b', 'draft/a', join(repository.path, 'mine'));
    await prepare({ slug: 'a' });
    expect(repository.git('-C', join(repository.path, 'mine'), 'branch', '--show-current')).toBe('draft/a');
  });

  test('concurrent tasks leave one of them on the branch', async () => {
    const purposes = ['x', 'y', 'z'];
    const stage = stagesOf(repository);
    await Promise.all(
      purposes.map((purpose) =>
        stage('cap.env.builtin.worktree.prepare', {
          node: 'prepare',
          key: purpose,
          input: { with: { slug: 'a', purpose } },
        }),
      ),
    );
    const on = purposes.map((purpose) =>
      repository.git('-C', `.holdpoint/worktrees/${purpose}-t-1-prepare`, 'branch', '--show-current'),
    );
    expect(on.filter((branch) => branch === 'draft/a')).toHaveLength(1);
  });

  test('a task whose branch was taken over gets another worktree, with the later commits', async () => {
    await prepare({ slug: 'a' });
    const later = await prepare({ slug: 'a', purpose: 'later' });
    const laterAt = String(later.context?.['worktree']);
    writeFileSync(join(repository.root, laterAt, 'later.txt'), '1');
    repository.git('-C', laterAt, 'add', 'later.txt');
    repository.git('-C', laterAt, 'commit', '--quiet', '--message=later');
    const again = await prepare({ slug: 'a' });
    expect(again.context?.['worktree']).not.toBe(WORK);
    expect(existsSync(join(repository.root, String(again.context?.['worktree']), 'later.txt'))).toBe(true);
  });

  test("a worktree changes nothing in the operator's checkout", async () => {
    await prepare({ slug: 'a' });
    mkdirSync(join(repository.root, '.holdpoint/tmp'));
    writeFileSync(join(repository.root, '.holdpoint/tmp/x'), '');
    await prepare({ slug: 'b' }, { key: 'b' });
    expect(repository.git('status', '--porcelain', '--untracked-files=all')).toBe('');
    expect(repository.git('branch', '--show-current')).toBe('main');
    const exclude = readFileSync(join(repository.root, '.git/info/exclude'), 'utf8');
    expect(exclude.match(/worktrees/g)).toHaveLength(1);
  });

  test.each([
    [{}, /no branch given/],
    [{ branch: '--force' }, /"--force" is not a valid branch name/],
    [{ slug: 'a..b' }, /"draft\/a\.\.b" is not a valid branch name/],
    [{ branch: 'main/x' }, /git update-ref: .*'refs\/heads\/main' exists/],
  ])('a worktree of %j fails', async (args, why) => {
    const result = await prepare(args);
    expect(result).toMatchObject({ outcome: 'failed', exitCode: 1 });
    expect(result.detail).toMatch(why);
  });

  test('a worktree does not follow a link out of the repository', async () => {
    symlinkSync(repository.path, join(repository.root, '.holdpoint'));
    await expect(prepare({ slug: 'a' })).rejects.toThrow(CleanFailure);
    expect(repository.git('worktree', 'list').split('\n')).toHaveLength(1);
  });

  test('a worktree fails in a repository without a commit', async () => {
    repository.git('checkout', '--quiet', '--orphan', 'fresh');
    expect(await prepare({ slug: 'a' })).toMatchObject({
      outcome: 'failed',
      detail: 'git branch: there is no commit yet to make draft/a from',
    });
  });
});

describe('cleaning up a worktree', () => {
  test('a cleanup removes the worktree, and keeps the branch', async () => {
    await prepare({ slug: 'a' });
    expect(await cleanUp(WORK)).toEqual({
      outcome: 'succeeded',
      detail: `removed ${WORK}`,
      context: { worktree: null },
      outputs: { worktree: WORK, degraded: false },
    });
    expect(existsSync(at(''))).toBe(false);
    expect(repository.git('branch', '--list', 'draft/a')).not.toBe('');
    expect(repository.git('for-each-ref', 'refs/holdpoint')).toBe('');
  });

  test('a cleanup without a worktree succeeds', async () => {
    expect(await cleanUp()).toEqual({ outcome: 'succeeded', detail: 'there is no worktree to clean up' });
    await prepare({ slug: 'a' });
    await cleanUp(WORK);
    expect(await cleanUp(WORK)).toMatchObject({ outcome: 'succeeded', context: { worktree: null } });
  });

  test('a cleanup keeps uncommitted work, and names its ref', async () => {
    await prepare({ slug: 'a' });
    writeFileSync(at('a.txt'), 'changed\n');
    writeFileSync(at('new'), 'new\n');
    const result = await cleanUp(WORK);
    expect(result).toMatchObject({
      outcome: 'succeeded',
      detail: `removed ${WORK}; uncommitted work is kept at refs/holdpoint/kept/t-1`,
      outputs: { kept: 'refs/holdpoint/kept/t-1' },
    });
    expect(repository.git('show', 'refs/holdpoint/kept/t-1:new')).toBe('new');
    expect(repository.git('show', 'refs/holdpoint/kept/t-1:a.txt')).toBe('changed');
    expect(repository.git('rev-parse', 'refs/holdpoint/kept/t-1^')).toBe(
      repository.git('rev-parse', 'draft/a'),
    );
  });

  test('a cleanup keeps the work of several worktrees, and equal work once', async () => {
    const keep = async (text: string): Promise<unknown> => {
      await prepare({ slug: 'a' });
      writeFileSync(at('new'), text);
      return (await cleanUp(WORK)).outputs?.['kept'];
    };
    expect(await keep('one')).toBe('refs/holdpoint/kept/t-1');
    expect(await keep('two')).toBe('refs/holdpoint/kept/t-1-2');
    expect(await keep('one')).toBe('refs/holdpoint/kept/t-1');
  });

  test('a cleanup keeps commits without a branch', async () => {
    await prepare({ slug: 'a' });
    repository.git('-C', WORK, 'checkout', '--quiet', '--detach');
    repository.git('-C', WORK, 'commit', '--quiet', '--allow-empty', '--message=on no branch');
    await cleanUp(WORK);
    expect(repository.git('log', '-1', '--format=%s', 'refs/holdpoint/kept/t-1')).toBe('on no branch');
  });

  test('a cleanup removes read-only, locked and broken worktrees', async () => {
    await prepare({ slug: 'a' });
    repository.git('worktree', 'lock', WORK);
    expect(await cleanUp(WORK)).toMatchObject({ outputs: { degraded: false } });
    await prepare({ slug: 'a' });
    rmSync(at(''), { recursive: true });
    expect(await cleanUp(WORK)).toMatchObject({ outputs: { degraded: false } });
    expect(repository.git('worktree', 'list').split('\n')).toHaveLength(1);
  });

  test('a cleanup never removes a folder that no task created', async () => {
    repository.write('src/x', '');
    repository.write('.holdpoint/worktrees/foreign/x', '');
    for (const worktree of ['src', '.holdpoint/worktrees', '..'])
      await expect(cleanUp(worktree)).rejects.toThrow(CleanFailure);
    expect(await cleanUp('.')).toMatchObject({ outcome: 'succeeded' });
    expect(await cleanUp('.holdpoint/worktrees/foreign')).toMatchObject({ outcome: 'failed' });
    expect(['a.txt', 'src/x', '.holdpoint/worktrees/foreign/x'].map(repository.has)).toEqual([
      true,
      true,
      true,
    ]);
  });
});
