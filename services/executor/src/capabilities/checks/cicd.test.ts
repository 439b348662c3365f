import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NodeId } from '@holdpoint/contracts/values/ids';
import type { StepInput } from '@holdpoint/contracts/task/step';
import { effectOf, orderFor } from '../../../testing/orders.ts';
import { createConfinement } from '../../adapters/process/create-confinement.ts';
import { type StageRepository, stageRepository, stagesOf } from '../../../testing/stage-repository.ts';

let repository: StageRepository;
beforeEach(async () => {
  repository = await stageRepository();
});
afterEach(() => repository.remove());

const gate = (input: Partial<StepInput>) => stagesOf(repository)('control.gate.cicd', { node: 'ci', input });
const worktrees = (): number => repository.git('worktree', 'list').split('\n').length;
const head = (): string => repository.git('rev-parse', 'main');
const CHECK = 'grep -q fixed a.txt';
const FIX = 'echo fixed > a.txt';

describe('a CI/CD check', () => {
  test('a CI/CD check has the result of its script', async () => {
    expect(await gate({ script: 'true' })).toMatchObject({ outcome: 'succeeded' });
    expect(await gate({ script: 'echo red; exit 5' })).toMatchObject({
      outcome: 'failed',
      exitCode: 5,
      hint: 'red',
    });
    expect(await gate({})).toEqual({ outcome: 'succeeded', detail: 'gate: none configured' });
  });

  test('a CI/CD check runs the fix script once, and the checks once more', async () => {
    const script = 'echo check >> log; grep -q fixed a.txt';
    const result = await gate({ script, fixScript: `echo fix >> log; ${FIX}` });
    expect(result).toMatchObject({
      outcome: 'succeeded',
      exitCode: 0,
      outputs: { first_exit_code: 1, fix_exit_code: 0 },
    });
    expect(repository.read('log')).toBe('check\nfix\ncheck\n');
  });

  test('a check that stays red fails with the first failure', async () => {
    const script = 'echo x >> log; exit "$(wc -l < log)"';
    expect(await gate({ script, fixScript: 'exit 9' })).toMatchObject({
      outcome: 'failed',
      exitCode: 1,
      outputs: { exit_code: 2, first_exit_code: 1, fix_exit_code: 9 },
    });
    expect(repository.read('log')).toBe('x\nx\n');
  });

  test('a fix stays in the worktree of the task', async () => {
    const stage = stagesOf(repository);
    const { context = {} } = await stage('cap.env.builtin.worktree.prepare', {
      input: { with: { branch: 'b' } },
    });
    const worktree = String(context['worktree']);
    expect(await gate({ script: CHECK, fixScript: FIX, context: { worktree } })).toMatchObject({
      outcome: 'succeeded',
    });
    expect(repository.read(`${worktree}/a.txt`)).toBe('fixed\n');
    expect(repository.read('a.txt')).toBe('one\n');
  });
});

describe('a commit in a temporary worktree', () => {
  test('a commit is checked in a worktree that is removed afterwards', async () => {
    const commit = head();
    repository.write('a.txt', 'changed by the operator\n');
    repository.write('untracked', '');
    const script = `test "$(cat a.txt)" = one && test ! -e untracked && git rev-parse HEAD && touch left`;
    expect(await gate({ script, context: { commit } })).toMatchObject({
      outcome: 'succeeded',
      outputs: { stdout: `${commit}\n` },
    });
    expect(worktrees()).toBe(1);
    expect(repository.git('branch', '--list', 'holdpoint/*')).toBe('');
    expect(repository.git('status', '--porcelain')).toBe(' M a.txt\n?? untracked');
  });

  test('confined checks and fixes write in that worktree, and not in the repository', async (context) => {
    const { state, env, root } = repository;
    const parts = { limits: {}, env, state, network: false, hidden: [], shown: [], writable: [] };
    const { confinement, problem } = await createConfinement(parts);
    context.skip(problem !== undefined, `commands cannot be confined here: ${String(problem)}`);
    const script = `echo x > '${root}/escaped' || true; touch left && ${CHECK}`;
    const result = await stagesOf(repository, { confinement })('control.gate.cicd', {
      node: 'ci',
      input: { script, fixScript: FIX, context: { commit: head() } },
    });
    expect(result).toMatchObject({ outcome: 'succeeded' });
    expect(repository.git('show', 'holdpoint/ci-fix/t-1:a.txt')).toBe('fixed');
    expect(repository.has('escaped')).toBe(false);
  });

  test('a fix is committed to its own branch, not to the target', async () => {
    const commit = head();
    const result = await gate({ script: CHECK, fixScript: FIX, context: { commit, target: 'main' } });
    expect(result).toMatchObject({
      outcome: 'succeeded',
      outputs: { ci_fix_branch: 'holdpoint/ci-fix/t-1' },
    });
    expect(result.detail).toContain(
      'is on the branch holdpoint/ci-fix/t-1, and not on the one that is checked',
    );
    expect(result.outputs?.['ci_fix_commit']).toBe(repository.git('rev-parse', 'holdpoint/ci-fix/t-1'));
    expect(repository.git('show', 'holdpoint/ci-fix/t-1:a.txt')).toBe('fixed');
    expect(repository.git('rev-parse', 'holdpoint/ci-fix/t-1^')).toBe(commit);
    expect(head()).toBe(commit);
    expect(worktrees()).toBe(1);
  });

  test('an insufficient fix is committed to its own branch as well', async () => {
    const result = await gate({ script: 'exit 3', fixScript: FIX, context: { commit: head() } });
    expect(result).toMatchObject({
      outcome: 'failed',
      exitCode: 3,
      outputs: { ci_fix_branch: 'holdpoint/ci-fix/t-1' },
    });
    expect(worktrees()).toBe(1);
  });

  test('a commit may be checked again, also after an interruption', async () => {
    const commit = head();
    await gate({ script: CHECK, fixScript: FIX, context: { commit } });
    expect(await gate({ script: CHECK, fixScript: FIX, context: { commit } })).toMatchObject({
      outcome: 'succeeded',
    });
    const { id } = orderFor(effectOf({ node: NodeId.parse('ci'), idempotencyKey: 'key' }));
    const place = `.holdpoint/worktrees/check-${id}`;
    expect(await gate({ script: 'pwd', context: { commit } })).toMatchObject({
      outputs: { stdout: `${repository.root}/${place}\n` },
    });
    repository.git('worktree', 'add', '--quiet', '--detach', place, commit);
    repository.write(`${place}/a.txt`, 'left by the one before\n');
    expect(await gate({ script: 'cat a.txt', context: { commit } })).toMatchObject({
      outputs: { stdout: 'one\n' },
    });
  });

  test('the commit must be a valid id', async () => {
    await expect(gate({ script: 'true', context: { commit: '--help' } })).rejects.toThrow(
      'is not a commit id',
    );
    expect(await gate({ script: 'true', context: { commit: '1'.repeat(40) } })).toMatchObject({
      outcome: 'failed',
    });
  });
});
