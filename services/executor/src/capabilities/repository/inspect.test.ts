import type { Artifact } from '@holdpoint/contracts/workflow/artifact';
import type { StepInput } from '@holdpoint/contracts/task/step';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type StageRepository, stageRepository, stagesOf } from '../../../testing/stage-repository.ts';

let repository: StageRepository;
beforeEach(async () => {
  repository = await stageRepository();
});
afterEach(() => repository.remove());

const inspect = async (input: Partial<StepInput>) => {
  const { outcome, outputs } = await stagesOf(repository)('cap.env.builtin.repository.inspect', { input });
  expect(outcome).toBe('succeeded');
  return outputs ?? {};
};

describe('preconditions', () => {
  const clean = { preconditions: [{ kind: 'clean_worktree' as const }] };

  test('a clean worktree has no uncommitted files, except those of tasks', async () => {
    repository.write('.holdpoint/worktrees/x/y', '');
    repository.write('.holdpoint/tmp/y', '');
    repository.write('.vizier/tmp-worktrees/x/y', '');
    repository.write('.vizier/tmp/x', '');
    expect(await inspect(clean)).toEqual({
      preconditions: [{ kind: 'clean_worktree', met: true, detail: 'no uncommitted changes' }],
      artifacts: {},
    });
    for (const name of ['1', '2', '3', '4', '5', '6']) repository.write(name, '');
    repository.write('a.txt', 'changed');
    expect(await inspect(clean)).toMatchObject({
      preconditions: [{ met: false, detail: 'not committed: a.txt, 1, 2, 3, 4 and 2 more' }],
    });
  });

  test('a branch exists or does not, also with a special name', async () => {
    const exists = async (branch: string | undefined, context = {}) =>
      (
        await inspect({
          context,
          preconditions: [{ kind: 'branch_exists', ...(branch !== undefined && { branch }) }],
        })
      )['preconditions'];
    expect(await exists('main')).toMatchObject([{ met: true }]);
    expect(await exists(undefined, { branch: 'main' })).toMatchObject([{ met: true }]);
    expect(await exists('gone')).toMatchObject([{ met: false, detail: 'branch gone does not exist' }]);
    expect(await exists('--all')).toMatchObject([{ met: false }]);
    expect(await exists(undefined)).toMatchObject([{ met: false, detail: 'no branch given' }]);
  });

  test('preconditions of a worktree are checked there', async () => {
    const stage = stagesOf(repository);
    const { context = {} } = await stage('cap.env.builtin.worktree.prepare', {
      input: { with: { branch: 'b' } },
    });
    const worktree = String(context['worktree']);
    repository.write('mine', '');
    expect(await inspect({ ...clean, context: { worktree } })).toMatchObject({
      preconditions: [{ met: true }],
    });
    repository.write(`${worktree}/x`, '');
    expect(await inspect({ ...clean, context: { worktree } })).toMatchObject({
      preconditions: [{ met: false }],
    });
  });
});

describe('artifacts', () => {
  const artifacts: Artifact[] = [
    { type: 'plan_branch', slug: 'a', branch: '' },
    { type: 'plan_commits', slug: 'a', branch: 'topic' },
    { type: 'plan_doc', slug: 'a', branch: '' },
    { type: 'plan_doc', slug: 'old', branch: 'main' },
    { type: 'plan_doc', slug: '../a', branch: 'main' },
    { type: 'target_branch', name: 'main' },
    { type: 'target_branch', name: '-d' },
    { type: 'merge_sentinel', slug: 'a' },
    { type: 'merge_sentinel', slug: '../../../a.txt' },
    { type: 'custom', typeId: 'prompt_text', key: 'x' },
  ];
  const LABELS = {
    'plan_branch:a (draft/a)': false,
    'plan_commits:a (topic)': false,
    'plan_doc:a (draft/a)': false,
    'plan_doc:old (main)': false,
    'plan_doc:../a (main)': false,
    'target_branch:main': true,
    'target_branch:-d': false,
    'merge_sentinel:a': false,
    'merge_sentinel:../../../a.txt': false,
  };

  test('artifacts of the repository exist or do not; others are not listed', async () => {
    expect((await inspect({ artifacts }))['artifacts']).toEqual(LABELS);
    repository.write('.vizier/implementation-plans/old.md', 'plan');
    repository.git('add', '--all');
    repository.git('commit', '--quiet', '--message=old');
    repository.git('branch', 'topic');
    repository.git('checkout', '--quiet', '-b', 'draft/a');
    repository.write('.holdpoint/plans/a.md', 'plan');
    repository.git('add', '--all');
    repository.git('commit', '--quiet', '--message=plan');
    repository.git('checkout', '--quiet', 'main');
    repository.write('.holdpoint/tmp/merge-conflicts/a.json', '{}');
    expect((await inspect({ artifacts }))['artifacts']).toEqual({
      ...LABELS,
      'plan_branch:a (draft/a)': true,
      'plan_commits:a (topic)': true,
      'plan_doc:a (draft/a)': true,
      'plan_doc:old (main)': true,
      'merge_sentinel:a': true,
    });
  });
});
