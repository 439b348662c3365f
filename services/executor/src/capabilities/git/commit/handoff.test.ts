import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type Ordered,
  type StageRepository,
  stageRepository,
  stagesOf,
} from '../../../../testing/stage-repository.ts';

const WORKTREE = '.holdpoint/worktrees/work-t-1-node';

let repository: StageRepository;
let base: string;
beforeEach(async () => {
  repository = await stageRepository();
  base = repository.git('rev-parse', 'HEAD');
  repository.git('worktree', 'add', '--quiet', '-b', 'draft/oak', WORKTREE);
});
afterEach(() => repository.remove());

const inTree = (...argv: readonly string[]): string => repository.git('-C', WORKTREE, ...argv);
const handOn = (input: NonNullable<Ordered['input']> = {}, key = 'key') =>
  stagesOf(repository)('cap.env.builtin.git.handoff', {
    key,
    input: { context: { worktree: WORKTREE, branch: 'draft/oak' }, ...input },
  });

test('a hand-off commits the pending work, and lists the work so far', async () => {
  repository.write(`${WORKTREE}/first`, '1');
  inTree('add', 'first');
  inTree('commit', '--quiet', '--message=the first');
  repository.write(`${WORKTREE}/second`, '2');
  repository.write(`${WORKTREE}/a.txt`, 'changed\n');
  const result = await handOn();
  expect(result).toMatchObject({
    outcome: 'succeeded',
    outputs: {
      committed: true,
      commit: inTree('rev-parse', 'HEAD'),
      files: ['a.txt', 'first', 'second'],
      log: ['wip: hand-off to the next session', 'the first'],
    },
  });
  expect(inTree('status', '--porcelain')).toBe('');
  const again = await handOn({ with: { base: inTree('rev-parse', 'HEAD~1') } }, 'next');
  expect(again).toMatchObject({
    outcome: 'succeeded',
    outputs: { committed: false, files: ['a.txt', 'second'], log: ['wip: hand-off to the next session'] },
  });
  expect(again.outputs).not.toHaveProperty('commit');
});

test('a hand-off may have another message', async () => {
  repository.write(`${WORKTREE}/x`, '');
  await handOn({ with: { message: 'wip: session 2' } });
  expect(inTree('log', '-1', '--format=%B')).toBe('wip: session 2');
});

test('a base that no longer exists is replaced by the last commit', async () => {
  repository.write(`${WORKTREE}/x`, '');
  expect(await handOn({ with: { base: '1'.repeat(40) } })).toMatchObject({
    outputs: { files: ['x'], log: [] },
  });
  await expect(handOn({ with: { base: 'HEAD' } })).rejects.toMatchObject({
    body: { code: 'EXECUTOR_INVALID_ARGUMENTS' },
  });
});

test('a hand-off commits nothing in a shared checkout', async () => {
  repository.write('mine', '');
  const result = await handOn({ context: {} });
  expect(result).toMatchObject({ outcome: 'succeeded', outputs: { committed: false, files: [], log: [] } });
  expect(result.detail).toContain('the shared checkout');
  expect(repository.git('rev-parse', 'HEAD')).toBe(base);
});

test('a hand-off leaves a worktree that is on another branch', async () => {
  repository.write(`${WORKTREE}/x`, '');
  inTree('checkout', '--quiet', '-b', 'other');
  expect(await handOn()).toMatchObject({ outcome: 'failed' });
  expect(inTree('rev-parse', 'HEAD')).toBe(base);
});
