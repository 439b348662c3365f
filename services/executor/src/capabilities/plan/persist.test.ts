import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type PlanRepository, planRepository, type StepChange } from '../../../testing/plan-repository.ts';
import { persistPlan } from './persist.ts';
import { planIdOf } from './plan-document.ts';

let repository: PlanRepository;
beforeEach(async () => {
  repository = await planRepository(process.env);
});
afterEach(() => repository.remove());

const persist = ({ args = {}, ...change }: StepChange = {}) =>
  repository.step(persistPlan, { args: { spec_text: 'Grow an oak.', slug: 'oak', ...args }, ...change });
const onBranch = (path = '.holdpoint/plans/oak.md', branch = 'draft/oak') =>
  repository.git('show', `${branch}:${path}`);

describe('without a worktree', () => {
  test('a plan is committed to its branch, which starts at HEAD', async () => {
    const result = await persist();
    expect(result).toMatchObject({
      outcome: 'succeeded',
      outputs: {
        slug: 'oak',
        branch: 'draft/oak',
        plan_id: planIdOf('t-1', 'oak'),
        path: '.holdpoint/plans/oak.md',
        commit: await repository.git('rev-parse', 'draft/oak'),
      },
      context: { slug: 'oak', branch: 'draft/oak' },
    });
    expect(await repository.git('rev-parse', 'draft/oak^')).toBe(await repository.git('rev-parse', 'main'));
    expect(await onBranch()).toContain('## Operator Spec\n\nGrow an oak.\n\n## Implementation Plan');
  });

  test("a plan does not touch the operator's checkout", async () => {
    await repository.write('b.txt', 'mine\n');
    await repository.git('add', 'b.txt');
    await persist();
    expect(await repository.git('status', '--porcelain')).toBe('M  b.txt');
  });

  test('a repeat commits nothing', async () => {
    const first = await persist();
    expect((await persist()).outputs).toEqual(first.outputs);
  });

  test('a clean checkout of the branch follows', async () => {
    await repository.git('checkout', '--quiet', '-b', 'draft/oak');
    await persist();
    expect(await repository.git('status', '--porcelain')).toBe('');
    expect(await repository.read('.holdpoint/plans/oak.md')).toContain('Grow an oak.');
  });

  test('a dirty checkout of the branch is not touched', async () => {
    await repository.git('checkout', '--quiet', '-b', 'draft/oak');
    await repository.write('b.txt', 'mine\n');
    const result = await persist();
    expect(result.outcome).toBe('failed');
    expect(result.detail).toContain('uncommitted changes: b.txt');
    expect(await repository.read('b.txt')).toBe('mine\n');
  });
});

describe('with a worktree', () => {
  const worktree = '.holdpoint/worktrees/w';
  beforeEach(async () => {
    await repository.git('worktree', 'add', '--quiet', '-b', 'draft/oak', worktree);
  });

  test('a plan is a file in the worktree, for a later node to commit', async () => {
    const before = await repository.git('rev-parse', 'draft/oak');
    const result = await persist({ context: { worktree, branch: 'draft/oak' } });
    expect(result.outcome).toBe('succeeded');
    expect(await repository.read(`${worktree}/.holdpoint/plans/oak.md`)).toContain('Grow an oak.');
    expect(await repository.git('rev-parse', 'draft/oak')).toBe(before);
    expect(await repository.git('-C', worktree, 'status', '--porcelain')).toBe('?? .holdpoint/');
  });

  test('a link that leads out of the worktree is not followed', async () => {
    await mkdir(join(repository.path, worktree, '.holdpoint'));
    await symlink(repository.outside, join(repository.path, worktree, '.holdpoint/plans'));
    await expect(persist({ context: { worktree, branch: 'draft/oak' } })).rejects.toThrow('leads out');
  });
});

test("the body is the agent's reply, else an argument, else the specification", async () => {
  const label = 'custom:plan_text:main';
  await persist({ args: { plan_body: 'by argument' }, payloads: { [label]: { text: '1. By the agent' } } });
  expect(await onBranch()).toContain('## Implementation Plan\n\n1. By the agent');
  await persist({ args: { plan_body: 'by argument' } });
  expect(await onBranch()).toContain('## Implementation Plan\n\nby argument');
  await persist();
  expect(await onBranch()).toContain('## Implementation Plan\n\nGrow an oak.');
});

test('an empty reply is no plan', async () => {
  const result = await persist({ payloads: { 'custom:plan_text:main': { text: ' \n' } } });
  expect(result).toMatchObject({
    outcome: 'failed',
    detail: 'the plan is empty',
  });
});

test('the specification may be a file of the repository', async () => {
  await repository.write('spec.md', 'From a file.');
  const result = await repository.step(persistPlan, {
    args: { spec_source: 'file', spec_file: 'spec.md', name_override: 'ash' },
  });
  expect(result.context).toEqual({ slug: 'ash', branch: 'draft/ash' });
  expect(await onBranch('.holdpoint/plans/ash.md', 'draft/ash')).toContain('From a file.');
});

test('the content of the file at submission counts', async () => {
  await repository.write('spec.md', 'Changed since.');
  await persist({ args: { spec_source: 'file', spec_file: 'spec.md' } });
  expect(await onBranch()).toContain('Grow an oak.');
});

test.each(['../outside.md', '/etc/passwd', '.git/config', 'missing.md'])(
  'a specification at %s is not read',
  async (file) => {
    const args = { spec_source: 'file', spec_file: file, slug: 'oak' };
    const result = await repository.step(persistPlan, { args });
    expect(result.outcome).toBe('failed');
    expect(result.detail).toContain(`spec_file ${file}`);
  },
);

test('a plan without a name is named after its specification', async () => {
  const args = { spec_text: 'Make the build twice as fast, and then some' };
  expect((await repository.step(persistPlan, { args })).context).toMatchObject({
    slug: 'make-the-build-twice-as-fast',
  });
});

test.each(['a/b', '.hidden', '…'])('a plan with the invalid name %s fails', async (slug) => {
  expect((await persist({ args: { slug } })).outcome).toBe('failed');
});

test.each([{ spec_source: 'web' }, { plan_id: 'x\ny' }, { branch: '--force' }])(
  'the arguments %j are refused',
  async (args) => {
    await expect(persist({ args })).rejects.toMatchObject({ body: { code: 'EXECUTOR_INVALID_ARGUMENTS' } });
  },
);

test('a repository with plans under .vizier keeps them there', async () => {
  await repository.write('.vizier/config.toml', '');
  await repository.write('.holdpoint/tmp/x', '');
  await persist();
  expect(await onBranch('.vizier/implementation-plans/oak.md')).toContain('Grow an oak.');
});

test('with both layouts, .holdpoint is used', async () => {
  await repository.write('.vizier/config.toml', '');
  await repository.write('.holdpoint/config.toml', '');
  await persist();
  expect(await onBranch()).toContain('Grow an oak.');
});
