import type { StepInput } from '@holdpoint/contracts/task/step';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type StageRepository, stageRepository, stagesOf } from '../../../testing/stage-repository.ts';

const WORKTREE = '.holdpoint/worktrees/work-t-1-node';

let repository: StageRepository;
let commit: string;
beforeEach(async () => {
  repository = await stageRepository();
  commit = repository.git('rev-parse', 'HEAD');
  repository.git('worktree', 'add', '--quiet', '-b', 'draft/oak', WORKTREE);
});
afterEach(() => repository.remove());

const STOP = 'control.gate.stop_condition';
const CICD = 'control.gate.cicd';
const gate = async (uses: string, input: Partial<StepInput>) => {
  const { outcome, outputs = {} } = await stagesOf(repository)(uses, {
    input: { context: { worktree: WORKTREE }, ...input },
  });
  const { clean, commit: checked } = outputs;
  return { outcome, clean, commit: checked };
};
const good = () => ({ outcome: 'succeeded', clean: true, commit });
const none = { outcome: 'succeeded', clean: false, commit: undefined };

describe.each([STOP, CICD])('a check by %s', (uses) => {
  test('a passed check reports the checked commit, if it was one', async () => {
    expect(await gate(uses, { script: 'true' })).toEqual(good());
    // New files of a check do not count as checked.
    expect(await gate(uses, { script: 'mkdir -p out && touch out/report' })).toEqual(good());
  });

  test.each([
    ['a file was changed before', 'echo x > a.txt', 'true'],
    ['a file was new', 'touch new', 'true'],
    ['it changes a file itself', 'true', 'echo x > a.txt'],
    ['it commits itself', 'true', 'git commit --quiet --allow-empty -m x'],
  ])('a check reports no commit when %s', async (_, before, script) => {
    await stagesOf(repository)('cap.env.shell.command.run', {
      key: 'before',
      input: { context: { worktree: WORKTREE }, script: before },
    });
    expect(await gate(uses, { script })).toEqual(none);
  });

  test('a failed or empty check reports no commit', async () => {
    const said = { clean: undefined, commit: undefined };
    expect(await gate(uses, { script: 'false' })).toEqual({ outcome: 'failed', ...said });
    expect(await gate(uses, {})).toEqual({ outcome: 'succeeded', ...said });
  });

  test('a check passes although git cannot report the commit', async () => {
    expect(await gate(uses, { script: 'rm .git' })).toMatchObject({
      outcome: 'succeeded',
      commit: undefined,
    });
  });
});

test('a commit checked in a temporary worktree is reported unless a fix was needed', async () => {
  repository.write('a.txt', 'somebody else\n');
  expect(await gate(CICD, { script: 'true', context: { commit } })).toEqual(good());
  const mended = { script: 'grep -q fixed a.txt', fixScript: 'echo fixed > a.txt' };
  expect(await gate(CICD, { ...mended, context: { commit } })).toEqual(none);
  expect(await gate(CICD, mended)).toEqual(none);
});

test('the duration of all scripts is reported', async () => {
  const { report } = await stagesOf(repository)(CICD, {
    input: { script: 'sleep 0.1; false', fixScript: 'sleep 0.1' },
  });
  expect(report?.usage?.durationMs).toBeGreaterThanOrEqual(290);
});
