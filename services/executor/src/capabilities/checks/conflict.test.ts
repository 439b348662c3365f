import { access, chmod, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256Of } from '@holdpoint/contracts/values/json';
import type { StepResult } from '@holdpoint/contracts/task/step';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type PlanRepository, planRepository, type StepChange } from '../../../testing/plan-repository.ts';
import { resolveConflict } from './conflict.ts';
import { previewIntegration } from '../git/integrate/preview.ts';

let repository: PlanRepository;
beforeEach(async () => {
  repository = await planRepository(process.env);
});
afterEach(() => repository.remove());

const preview = () => repository.step(previewIntegration, { args: { slug: 'oak', target: 'main' } });

/** draft/oak and main both changed a.txt; the preview has seen it, and left its sentinel. */
const conflict = async (
  ours: Record<string, string | undefined> = { 'a.txt': 'one\nTWO\nthree\n' },
  theirs: Record<string, string | undefined> = { 'a.txt': 'one\nzwei\nthree\n' },
): Promise<void> => {
  const base = await repository.git('rev-parse', 'main');
  await repository.git('checkout', '--quiet', '-b', 'draft/oak', base);
  await repository.commit('draft/oak', { ...ours, 'ours.txt': 'ours\n' });
  await repository.commit('main', { ...theirs, 'theirs.txt': 'theirs\n' });
  expect((await preview()).outcome).toBe('blocked');
};

const gate = (change: StepChange = {}): Promise<StepResult> =>
  repository.step(resolveConflict, { args: { slug: 'oak' }, ...change });
const withAgent = (script: string, change: StepChange = {}): Promise<StepResult> =>
  gate({ autoResolve: true, agent: ['sh', '-c', script], ...change });

const tip = (branch: string): Promise<string> => repository.git('rev-parse', branch);
const isThere = (path: string): Promise<boolean> =>
  access(join(repository.path, path)).then(
    () => true,
    () => false,
  );
const SENTINEL = '.holdpoint/tmp/merge-conflicts/oak.json';

const checkBlocked = async (result: StepResult, ...files: readonly string[]): Promise<void> => {
  expect(result).toMatchObject({ outcome: 'blocked', exitCode: 10, outputs: { files } });
  expect(await isThere(SENTINEL)).toBe(true);
};

test('a merge without a conflict passes', async () => {
  expect(await gate()).toMatchObject({ outcome: 'succeeded', detail: 'no conflict recorded for oak' });
});

describe('without an agent', () => {
  beforeEach(() => conflict());

  test('a conflict blocks with its files', async () => {
    await checkBlocked(await gate(), 'a.txt');
  });

  test('the check passes and removes the sentinel once a user has resolved the conflict', async () => {
    await repository.git('checkout', '--quiet', 'draft/oak');
    await repository.git('merge', '--quiet', '--strategy-option=ours', '--no-edit', 'main');
    expect(await gate()).toMatchObject({
      outcome: 'succeeded',
      context: { slug: 'oak', branch: 'draft/oak', target: 'main' },
    });
    expect(await isThere(SENTINEL)).toBe(false);
  });

  test('an agent that is not configured blocks, and the setting is named', async () => {
    const result = await gate({ autoResolve: true });
    await checkBlocked(result, 'a.txt');
    expect(result.detail).toContain('[agents.default]');
  });
});

describe('resolving with an agent', () => {
  test('an agent only edits the files, and the merge is committed on the source', async () => {
    await conflict();
    const [source, target] = [await tip('draft/oak'), await tip('main')];
    const result = await withAgent('cat > prompt.txt; printf "one\\nTWO zwei\\nthree\\n" > a.txt');
    expect(result).toMatchObject({ outcome: 'succeeded', context: { commit: await tip('draft/oak') } });
    expect(await repository.git('log', '-1', '--format=%P', 'draft/oak')).toBe(`${source} ${target}`);
    expect(await repository.git('show', 'draft/oak:a.txt')).toBe('one\nTWO zwei\nthree');
    // Resolved and merged files, without other files of the agent.
    expect(await repository.git('ls-tree', '-r', '--name-only', 'draft/oak')).toBe(
      'a.txt\nb.txt\nours.txt\ntheirs.txt',
    );
    expect(await tip('main')).toBe(target);
    expect(await isThere(SENTINEL)).toBe(false);
    expect((await preview()).outcome).toBe('succeeded');
  });

  test('an agent leaves no worktree behind, and no change in the checkout', async () => {
    await conflict();
    await withAgent('printf "x\\n" > a.txt');
    expect(await readdir(join(repository.path, '.holdpoint/worktrees'))).toEqual([]);
    expect(await repository.git('status', '--porcelain')).toBe('');
    expect(await repository.git('worktree', 'list', '--porcelain')).not.toContain('conflict-');
  });

  test('an agent gets the branches, the files and the earlier failure', async () => {
    await conflict();
    await withAgent(`cat > ${repository.outside}/prompt; printf "x\\n" > a.txt`, {
      hint: 'it did not build',
    });
    const prompt = await repository.read('../prompt');
    for (const part of ['`main`', '`draft/oak`', '- a.txt', 'it did not build'])
      expect(prompt).toContain(part);
  });

  test('an agent gets the instructions of the template instead, if there are any', async () => {
    await conflict();
    await repository.write('how.md', 'Take ours, always.');
    const script = `cat > ${repository.outside}/prompt; printf "x\\n" > a.txt`;
    await withAgent(script, { args: { slug: 'oak', prompt_file: 'how.md' } });
    expect(await repository.read('../prompt')).toMatch(/^Take ours, always\.\n/);
  });

  test('an agent that fails may still have resolved the conflict', async () => {
    await conflict();
    expect((await withAgent('printf "x\\n" > a.txt; exit 3')).outcome).toBe('succeeded');
  });

  test.each([
    ['does nothing', 'true'],
    ['leaves a marker', 'sed -i "/^=======/d; /^<<<<<<</d" a.txt'],
    ['stages the file with its markers', 'git add a.txt'],
    ['aborts the merge', 'git merge --abort'],
    ['aborts the merge, and edits the file', 'git reset -q --hard; echo x > a.txt'],
    ['fails', 'exit 1'],
  ])('an agent that %s leaves the conflict unresolved', async (_, script) => {
    await conflict();
    const before = await tip('draft/oak');
    await checkBlocked(await withAgent(script), 'a.txt');
    expect(await tip('draft/oak')).toBe(before);
  });

  test('an agent may commit the merge itself', async () => {
    await conflict();
    const result = await withAgent('echo x > a.txt; git -c user.name=x -c user.email=x@x commit -qam done');
    expect(result.outcome).toBe('succeeded');
    expect(await repository.git('show', 'draft/oak:a.txt')).toBe('x');
    expect(await repository.git('log', '-1', '--format=%an', 'draft/oak')).toBe('Ada');
  });

  test('an agent may resolve by deleting a file', async () => {
    await conflict({ 'a.txt': 'one\nTWO\nthree\n' }, { 'a.txt': undefined });
    expect((await withAgent('rm a.txt')).outcome).toBe('succeeded');
    expect(await repository.git('ls-tree', '-r', '--name-only', 'draft/oak')).not.toContain('a.txt');
  });

  test('an agent must mark a file that it leaves as it is after a deletion on one side', async () => {
    await conflict({ 'a.txt': 'one\nTWO\nthree\n' }, { 'a.txt': undefined });
    await checkBlocked(await withAgent('true'), 'a.txt');
    expect((await withAgent('git add a.txt')).outcome).toBe('succeeded');
    expect(await repository.git('show', 'draft/oak:a.txt')).toBe('one\nTWO\nthree');
  });

  test('an agent may leave markers that both sides have as text', async () => {
    const text = (middle: string): string => `<<<<<<< example\n${middle}\n>>>>>>> example\n`;
    await conflict({ 'a.txt': text('ours') }, { 'a.txt': text('theirs') });
    const done = text('both').replaceAll('\n', '\\n');
    expect((await withAgent(`printf '${done}' > a.txt`)).outcome).toBe('succeeded');
  });

  test('an executable file stays executable', async () => {
    await conflict();
    await withAgent('echo x > a.txt; chmod +x a.txt');
    expect(await repository.git('ls-tree', 'draft/oak', 'a.txt')).toMatch(/^100755/);
  });

  test('an agent is not started while a checkout of the source has changes', async () => {
    await conflict();
    await repository.git('checkout', '--quiet', 'draft/oak');
    await repository.write('b.txt', 'mine\n');
    const result = await withAgent(`touch ${repository.outside}/ran`);
    expect(result.outcome).toBe('blocked');
    expect(result.detail).toContain('uncommitted changes: b.txt');
    expect(await isThere('../ran')).toBe(false);
  });

  test('an agent loses against a concurrent move of the source', async () => {
    await conflict();
    const script = `printf "x\\n" > a.txt; git -C ${repository.path} branch -qf draft/oak draft/oak~1`;
    const result = await withAgent(script);
    await checkBlocked(result, 'a.txt');
    expect(result.detail).toContain('moved in the meantime');
  });

  test('a cancelled agent leaves nothing behind', async () => {
    await conflict();
    const controller = new AbortController();
    const agent = ['sh', '-c', 'echo half > a.txt; echo begun; exec sleep 600'];
    const before = await tip('draft/oak');
    await expect(
      repository.step(
        resolveConflict,
        { args: { slug: 'oak' }, autoResolve: true, agent },
        { context: { signal: controller.signal, say: () => controller.abort() } },
      ),
    ).rejects.toThrow('interrupted');
    expect(await readdir(join(repository.path, '.holdpoint/worktrees'))).toEqual([]);
    expect(await tip('draft/oak')).toBe(before);
    expect(await isThere(SENTINEL)).toBe(true);
  });

  test.each(['a worktree with half a resolution', 'a folder that git knows nothing of'])(
    'an agent starts again where a crash left %s',
    async (left) => {
      await conflict();
      const place = `.holdpoint/worktrees/conflict-t-1-${sha256Of('oak').slice(0, 8)}`;
      if (left.startsWith('a worktree'))
        await repository.git('worktree', 'add', '--quiet', place, 'draft/oak');
      await repository.write(`${place}/a.txt`, 'half\n');
      await checkBlocked(await withAgent('true'), 'a.txt');
      expect((await withAgent('echo x > a.txt')).outcome).toBe('succeeded');
      expect(await repository.git('show', 'draft/oak:a.txt')).toBe('x');
      expect(await readdir(join(repository.path, '.holdpoint/worktrees'))).toEqual([]);
    },
  );

  test('an agent that finished before a crash does not run again', async () => {
    await conflict();
    const sentinel = await repository.read(SENTINEL);
    await withAgent('echo x > a.txt');
    await repository.write(SENTINEL, sentinel);
    const result = await withAgent(`touch ${repository.outside}/ran`);
    expect(result).toMatchObject({ outcome: 'succeeded', context: { commit: await tip('draft/oak') } });
    expect(await isThere('../ran')).toBe(false);
    expect(await isThere(SENTINEL)).toBe(false);
  });
});

test('no configured merge driver or hook runs while a conflict is resolved', async () => {
  await conflict();
  const trace = join(repository.outside, 'ran');
  await repository.write('.git/info/attributes', '* merge=evil\n');
  await repository.git('config', 'merge.evil.driver', `touch ${trace}; true`);
  for (const hook of [
    'post-checkout',
    'pre-merge-commit',
    'prepare-commit-msg',
    'reference-transaction',
    'post-merge',
  ]) {
    await repository.write(`.git/hooks/${hook}`, `#!/bin/sh\ntouch ${trace}\n`);
    await chmod(join(repository.path, '.git/hooks', hook), 0o755);
  }
  expect((await withAgent('echo x > a.txt')).outcome).toBe('succeeded');
  expect(await isThere('../ran')).toBe(false);
});
