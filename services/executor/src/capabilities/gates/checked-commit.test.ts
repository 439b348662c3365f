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

describe.each([STOP, CICD])('%s', (uses) => {
  test('that passes says which commit it has checked, when it was one', async () => {
    expect(await gate(uses, { script: 'true' })).toEqual(good());
    // New files of a check do not count as checked.
    expect(await gate(uses, { script: 'mkdir -p out && touch out/report' })).toEqual(good());
  });

  test.each([
    ['something was changed', 'echo x > a.txt', 'true'],
    ['something was new', 'touch new', 'true'],
    ['it changes something itself', 'true', 'echo x > a.txt'],
    ['it commits itself', 'true', 'git commit --quiet --allow-empty -m x'],
  ])('says none when %s', async (_, before, script) => {
    await stagesOf(repository)('cap.env.shell.command.run', {
      key: 'before',
      input: { context: { worktree: WORKTREE }, script: before },
    });
    expect(await gate(uses, { script })).toEqual(none);
  });

  test('that fails, or checks nothing, says nothing of it', async () => {
    const said = { clean: undefined, commit: undefined };
    expect(await gate(uses, { script: 'false' })).toEqual({ outcome: 'failed', ...said });
    expect(await gate(uses, {})).toEqual({ outcome: 'succeeded', ...said });
  });

  test('where git cannot tell passes all the same', async () => {
    expect(await gate(uses, { script: 'rm .git' })).toMatchObject({
      outcome: 'succeeded',
      commit: undefined,
    });
  });
});

test('a commit that is checked where nobody works is it, unless it had to be mended', async () => {
  repository.write('a.txt', 'somebody else\n');
  expect(await gate(CICD, { script: 'true', context: { commit } })).toEqual(good());
  const mended = { script: 'grep -q fixed a.txt', fixScript: 'echo fixed > a.txt' };
  expect(await gate(CICD, { ...mended, context: { commit } })).toEqual(none);
  expect(await gate(CICD, mended)).toEqual(none);
});

test('how long it took is reported, all of it', async () => {
  const { report } = await stagesOf(repository)(CICD, {
    input: { script: 'sleep 0.1; false', fixScript: 'sleep 0.1' },
  });
  expect(report?.usage?.durationMs).toBeGreaterThanOrEqual(290);
});
