import { access, chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type PlanRepository, planRepository } from '../../../../testing/plan-repository.ts';
import { MergePreview, previewIntegration } from './preview.ts';

let repository: PlanRepository;
beforeEach(async () => {
  repository = await planRepository(process.env);
});
afterEach(() => repository.remove());

const PLAN = '.holdpoint/plans/oak.md';
const preview = (args: Record<string, string | boolean> = {}) =>
  repository.step(previewIntegration, { args: { slug: 'oak', target: 'main', ...args } });

/** A branch draft/oak with a plan, which changes one line of a file; main is checked out. */
const plan = async (): Promise<void> => {
  await repository.commit('draft/oak', { 'a.txt': 'one\nTWO\nthree\n', [PLAN]: '# Oak\n' }, 'grow an oak');
  await repository.git('checkout', '--quiet', 'main');
};

describe('mergeable branches', () => {
  beforeEach(plan);

  test('a preview shows the commits, the changes and the new target', async () => {
    const result = await preview();
    expect(result.outcome).toBe('succeeded');
    expect(result.outputs).toMatchObject({
      slug: 'oak',
      source: 'draft/oak',
      source_tip: await repository.git('rev-parse', 'draft/oak'),
      target: 'main',
      target_tip: await repository.git('rev-parse', 'main'),
      squash: true,
      delete_branch: false,
      message: 'feat: merge plan oak',
      already: false,
      commits: [{ sha: await repository.git('rev-parse', 'draft/oak'), subject: 'grow an oak' }],
    });
    expect(result.outputs?.['diffstat']).toContain('1 file changed, 1 insertion(+), 1 deletion(-)');
    expect(result.outputs?.['patch']).toMatch(
      /^diff --git a\/a\.txt b\/a\.txt\n[^]*\n one\n-two\n\+TWO\n three/,
    );
    expect(result.context).toEqual({ slug: 'oak', branch: 'draft/oak', target: 'main' });
    expect(MergePreview.safeParse(result.outputs).success).toBe(true);
  });

  test('a long patch ends at a line, with the command that prints all of it', async () => {
    const long = '0123456789 the same line again\n'.repeat(2_000);
    await repository.commit('draft/oak', { 'long.txt': long }, 'grow');
    await repository.git('checkout', '--quiet', 'main');
    const { outputs } = await preview();
    const { patch } = z.object({ patch: z.string() }).parse(outputs);
    const { target_tip: from, commit } = MergePreview.parse(outputs);
    const lines = patch.trimEnd().split('\n');
    expect(lines.at(-1)).toBe(`[shortened, all of it: git diff ${from} ${commit}]`);
    expect(lines.at(-2)).toBe('+0123456789 the same line again');
    expect(lines.length).toBeLessThan(1_200);
  });

  test('a preview changes no branch, file or index', async () => {
    const before = await repository.git('for-each-ref');
    await preview();
    expect(await repository.git('for-each-ref')).toBe(before);
    expect(await repository.git('status', '--porcelain')).toBe('');
  });

  test('the same facts give the same commit at any time', async () => {
    expect((await preview()).outputs).toEqual((await preview()).outputs);
  });

  test('the default target is the checked-out branch', async () => {
    const result = await repository.step(previewIntegration, { args: { branch: 'draft/oak' } });
    expect(result.outputs).toMatchObject({ target: 'main', slug: 'oak' });
  });

  test('the default source is the branch of the context', async () => {
    const result = await repository.step(previewIntegration, { context: { branch: 'draft/oak' } });
    expect(result.outputs).toMatchObject({ source: 'draft/oak', slug: 'oak' });
  });

  test('a dirty checkout of the target blocks before the approval', async () => {
    await repository.write('b.txt', 'mine\n');
    const result = await preview();
    expect(result).toMatchObject({ outcome: 'blocked', exitCode: 10 });
    expect(result.detail).toContain('uncommitted changes: b.txt');
  });

  test('a merged source is reported as already merged', async () => {
    await repository.git('merge', '--quiet', 'draft/oak');
    const result = await preview();
    expect(result.outputs).toMatchObject({
      already: true,
      commit: await repository.git('rev-parse', 'main'),
    });
  });
});

describe('branches that cannot be merged', () => {
  test.each([
    [{ slug: 'elm' }, 'no such branch to merge: draft/elm'],
    [{ slug: 'x', branch: 'main', target: 'gone' }, 'no such branch to merge into: gone'],
    [{ branch: 'main', target: 'main' }, 'main cannot be merged into itself'],
  ])('%j fails with a reason', async (args, why) => {
    expect(await preview(args)).toMatchObject({ outcome: 'failed', detail: why });
  });

  test.each(['--upload-pack=x', '-q', 'a..b', 'x\ny', 'refs/heads/main', '@{-1}', 'main^{tree}', ':/begin'])(
    'the branch name %j is refused before git gets it',
    async (branch) => {
      await expect(preview({ branch })).rejects.toThrow('is not a valid branch name');
    },
  );

  test('a switch that is neither true nor false is refused', async () => {
    await plan();
    await expect(preview({ squash: 'perhaps' })).rejects.toThrow('with.squash');
  });
});

describe('a conflict', () => {
  beforeEach(async () => {
    await plan();
    await repository.commit('main', { 'a.txt': 'one\nzwei\nthree\n' }, 'in German');
  });

  test('a conflict blocks, names the files and leaves a sentinel', async () => {
    const result = await preview();
    expect(result).toMatchObject({
      outcome: 'blocked',
      exitCode: 10,
      detail: 'merging draft/oak into main conflicts in a.txt',
      context: { slug: 'oak', branch: 'draft/oak', target: 'main' },
    });
    expect(JSON.parse(await repository.read('.holdpoint/tmp/merge-conflicts/oak.json'))).toMatchObject({
      slug: 'oak',
      source_branch: 'draft/oak',
      target_branch: 'main',
      task: 't-1',
      node: 'node',
      files: ['a.txt'],
    });
  });

  test('a conflict leaves the checkout unchanged', async () => {
    await preview();
    expect(await repository.git('status', '--porcelain')).toBe('');
    expect(await repository.read('a.txt')).toBe('one\nzwei\nthree\n');
  });

  test('a conflict in the plan document alone is no conflict', async () => {
    await repository.commit('draft/oak', { 'a.txt': 'one\nzwei\nthree\n', [PLAN]: '# Oak tree\n' });
    await repository.commit('main', { [PLAN]: '# Another\n' });
    expect((await preview()).outputs).toMatchObject({ already: false });
  });
});

test('no configured merge driver, filter or hook runs', async () => {
  const trace = `touch ${repository.outside}/ran`;
  await repository.commit('draft/oak', { 'a.txt': 'one\nTWO\nthree\n', 'c.txt': 'c\n' });
  await repository.commit('main', { 'a.txt': 'one\nzwei\nthree\n' });
  await repository.write('.git/info/attributes', '* merge=evil diff=evil\n*.none filter=evil\n');
  for (const [key, value] of [
    ['merge.evil.driver', `${trace}; true`],
    ['diff.evil.textconv', trace],
    ['diff.evil.command', trace],
    ['diff.external', trace],
    ['filter.evil.clean', trace],
    ['filter.evil.smudge', trace],
    ['core.fsmonitor', trace],
    ['gpg.program', trace],
    ['core.hooksPath', `${repository.outside}/hooks`],
  ]) {
    await repository.git('config', key ?? '', value ?? '');
  }
  expect((await preview()).outcome).toBe('blocked');
  await expect(access(join(repository.outside, 'ran'))).rejects.toThrow('ENOENT');
});

test('an old git merges in a temporary worktree', async () => {
  await plan();
  await repository.commit('draft/elm', { 'b.txt': 'elm\n' });
  await repository.git('checkout', '--quiet', 'main');
  await repository.commit('main', { 'b.txt': 'bee\n' });
  const bin = join(repository.outside, 'bin');
  await mkdir(bin);
  const real = (process.env['PATH'] ?? '').split(':').map((folder) => `${folder}/git`);
  await writeFile(
    join(bin, 'git'),
    `#!/bin/sh
for word; do [ "$word" = merge-tree ] && exit 129; done
for git in ${real.join(' ')}; do [ -x "$git" ] && exec "$git" "$@"; done
`,
  );
  await chmod(join(bin, 'git'), 0o755);
  const old = repository.using({ PATH: `${bin}:${process.env['PATH'] ?? ''}` });
  const clean = await old(previewIntegration, { args: { slug: 'oak', target: 'main' } });
  expect(clean.outputs).toEqual((await preview()).outputs);
  const conflicting = await old(previewIntegration, { args: { slug: 'elm', target: 'main' } });
  expect(conflicting).toMatchObject({ outcome: 'blocked', outputs: { files: ['b.txt'] } });
  expect(await repository.git('worktree', 'list')).not.toContain('merge-');
});
