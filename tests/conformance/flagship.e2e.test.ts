import { copyVizier } from '@holdpoint/workflows/testing/compile-workflow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { whileApproving } from './support/approver.ts';
import { commitTo } from './support/plans.ts';
import { createRepository, giveFlows, type Repository } from './support/repository.ts';
import { follow, newRun, nodeOf, viewOf } from './support/runs.ts';
import { startStack, type Stack } from './support/stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

/** Unmodified templates in Vizier's format, with their original configuration. */
const vizier = (version: string): Repository => {
  const repository = createRepository(stack);
  copyVizier(repository.root, version);
  repository.git('add', '--', '.vizier');
  repository.git('commit', '--quiet', '--message', 'vizier');
  repository.write('spec.md', 'Greet people.\n');
  return repository;
};

/**
 * The agent of that configuration changes nothing: the script does the work, and succeeds the second time.
 * It stages its changes, because some of the templates repeat only the commit.
 */
const WORK = 'test -s greeting.txt || { echo greeting > greeting.txt; git add greeting.txt; exit 1; }';

const succeeds = async (repository: Repository, ...words: readonly string[]) => {
  const run = newRun();
  const { code, ended, text } = await whileApproving(repository, [run], () =>
    follow(repository, ...words, '--id', run),
  );
  expect(code, text).toBe(0);
  expect(ended.terminal_state).toBe('succeeded');
  return viewOf(stack, run);
};

const filesOf = ({ git }: Repository, branch: string): readonly string[] =>
  git('ls-tree', '-r', '--name-only', branch).split('\n');

describe.concurrent.each(['v0.2.5', 'v0.2.6'])('unmodified templates of the format %s', (version) => {
  test('36. draft, approve with a stop condition that fails once, and merge', async () => {
    const repository = vizier(version);
    await succeeds(repository, 'draft', 'spec.md', 'greet');
    expect(repository.git('show', 'draft/greet:.vizier/implementation-plans/greet.md')).toContain('done');
    const approved = await succeeds(repository, 'approve', 'greet', '--set', `stop_condition_script=${WORK}`);
    expect(nodeOf(approved, 'stage_commit').attempt).toBe(2);
    expect(nodeOf(approved, 'worktree_prepare').attempt).toBe(1);
    await succeeds(repository, 'merge', 'greet', '--set', 'cicd_script=test -s greeting.txt');
    expect(repository.git('log', '-1', '--format=%s')).toBe('feat: merge plan greet');
    expect(filesOf(repository, 'main')).toContain('greeting.txt');
    expect(filesOf(repository, 'main')).not.toContain('.vizier/implementation-plans/greet.md');
    expect(repository.git('branch', '--list', 'draft/greet')).toBe('');
    expect(repository.git('status', '--porcelain')).toBe('?? spec.md');
  });

  test('36. develop with a named branch and target', async () => {
    const repository = vizier(version);
    repository.git('branch', 'release');
    const words = ['--branch', 'work/greet', '--target', 'release', '--set', `stop_condition_script=${WORK}`];
    const run = await succeeds(repository, 'develop', 'spec.md', 'greet', ...words);
    expect(new Set(run.nodes.map(({ job }) => job))).toEqual(new Set(['succeeded', 'unreached']));
    expect(filesOf(repository, 'release')).toContain('greeting.txt');
    expect(filesOf(repository, 'main')).not.toContain('greeting.txt');
  });

  test('36. a merge conflicts with its target, and the agent leaves the conflict', async () => {
    const repository = vizier(version);
    const plan = { '.vizier/implementation-plans/clash.md': '# Plan\n' };
    commitTo(repository, 'draft/clash', { ...plan, 'greeting.txt': 'one\n' }, 'one');
    await succeeds(repository, 'approve', 'clash', 'draft/clash');
    repository.commit({ 'greeting.txt': 'another\n' }, 'another');
    const { code, ended, text } = await follow(repository, 'merge', 'clash');
    expect(code, text).toBe(10);
    expect(ended.blocked).toContain(`${ended.run_id}/merge_conflict_resolution`);
    expect(repository.read('greeting.txt')).toBe('another\n');
    expect(repository.git('log', '-1', '--format=%s')).toBe('another');
  });
});

describe.concurrent('other stages', () => {
  test('36. commit: changes are staged, the agent writes the message, and they are committed', async () => {
    const repository = vizier('v0.2.6');
    await succeeds(repository, 'commit', '["spec.md"]');
    expect(repository.git('log', '-1', '--format=%s')).toBe('done');
    expect(repository.git('show', 'HEAD:spec.md')).toBe('Greet people.');
  });

  test('37. a develop whose agent resolves the conflict without staging; the next develop works as well', async () => {
    const repository = createRepository(stack);
    giveFlows(repository, RESOLVING);
    repository.git('branch', 'draft/greet');
    repository.commit({ 'greeting.txt': 'hello\n' }, 'hello');
    const develop = (slug: string) =>
      succeeds(repository, 'develop', '--slug', slug, '--set', 'spec_text=Greet people.', '--target', 'main');
    const first = await develop('greet');
    // The route led back to the merge, which did not need it again.
    expect(nodeOf(first, 'merge__merge_conflict_resolution')).toMatchObject({ job: 'succeeded', attempt: 2 });
    expect(nodeOf(first, 'merge__merge_integrate')).toMatchObject({ job: 'succeeded', attempt: 2 });
    expect(repository.read('greeting.txt')).toBe('both\n');
    expect(repository.git('status', '--porcelain')).toBe('');
    expect(repository.git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(repository.has('.holdpoint/tmp/merge-conflicts/greet.json')).toBe(false);

    await develop('again');
    expect(repository.read('greeting.txt')).toBe('both\n');
    expect(repository.git('show', 'main:again.txt')).toBe('once more');
    expect(repository.git('status', '--porcelain')).toBe('');
  });
});

/** Plans first, then implements the plan from a file, and removes conflict markers. */
const RESOLVING = `
if grep -q '^<<<<<<<' greeting.txt 2>/dev/null; then echo both > greeting.txt
elif [ -e .holdpoint/plans/again.md ]; then echo once more > again.txt
elif [ -d .holdpoint/plans ]; then echo welcome > greeting.txt
fi
echo "a fixed reply"`;
