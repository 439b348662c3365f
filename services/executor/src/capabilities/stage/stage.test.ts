import { existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StepInput } from '@holdpoint/contracts/task/step';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { contextFor } from '../../../testing/context.ts';
import { beginWork } from '../../../testing/interrupted-work.ts';
import { effectOf, orderFor } from '../../../testing/orders.ts';
import {
  carryOut,
  type Ordered,
  type StageRepository,
  stageRepository,
  stagesOf,
} from '../../../testing/stage-repository.ts';
import { CleanFailure, OutcomeUnknown } from '../../ports/capability.ts';
import { createStages, type RunStage } from './stage.ts';
import { failed, succeeded } from './results.ts';

let repository: StageRepository;
beforeEach(async () => {
  repository = await stageRepository();
});
afterEach(() => repository.remove());

const WORKTREE = { worktree: '.holdpoint/worktrees/work-t-1-prepare', branch: 'topic' };
const prepare = () =>
  stagesOf(repository)('cap.env.builtin.worktree.prepare', {
    node: 'prepare',
    input: { with: { branch: 'topic' } },
  });
const inWorktree = (path: string): string => join(repository.root, WORKTREE.worktree, path);
const stageOf = (run: RunStage) => {
  const capability = createStages(repository.partsFor()).capability({ uses: 'cap.test', run });
  return (ordered: Ordered = {}) => carryOut(capability, repository.root, ordered);
};
const codeOf = async (made: Promise<unknown>): Promise<string> => {
  const error = await made.catch((thrown: unknown) => thrown);
  if (!(error instanceof CleanFailure)) throw new Error(`not refused: ${String(error)}`);
  return error.body.code;
};

describe('the working folder of a step', () => {
  const where = () => stageOf((_, { root }) => Promise.resolve(succeeded(root)));

  test('a step works in the repository, or in the worktree of its context', async () => {
    expect(await where()()).toMatchObject({ detail: repository.root });
    await prepare();
    expect(await where()({ input: { context: WORKTREE } })).toMatchObject({
      detail: join(repository.root, WORKTREE.worktree),
    });
  });

  test.each([
    'src',
    '..',
    '/',
    '.holdpoint/worktrees',
    '.holdpoint/worktrees/a/b',
    '.holdpoint/worktrees/link',
  ])('a step does not work in %s', async (worktree) => {
    repository.write('src/x', '');
    repository.write('.holdpoint/worktrees/a/b/x', '');
    symlinkSync(join(repository.root, 'src'), join(repository.root, '.holdpoint/worktrees/link'));
    expect(await codeOf(where()({ input: { context: { worktree } } }))).toBe('EXECUTOR_PATH_REFUSED');
  });

  test("a step does not fall back to the operator's checkout when its worktree is gone", async () => {
    await prepare();
    rmSync(inWorktree('.git'));
    expect(await codeOf(where()({ input: { context: WORKTREE } }))).toBe('EXECUTOR_PATH_REFUSED');
    rmSync(inWorktree(''), { recursive: true });
    expect(await codeOf(where()({ input: { context: WORKTREE } }))).toBe('EXECUTOR_PATH_REFUSED');
  });

  test('a step refuses a worktree that points to another repository', async () => {
    await prepare();
    repository.git('init', '--quiet', '../other');
    repository.git('-C', '../other', 'config', 'core.hooksPath', '/somewhere');
    writeFileSync(inWorktree('.git'), `gitdir: ${join(repository.path, 'other', '.git')}\n`);
    expect(await codeOf(where()({ input: { context: WORKTREE } }))).toBe('EXECUTOR_PATH_REFUSED');
  });

  test('a step needs a repository', async () => {
    const capability = createStages(repository.partsFor()).capability({
      uses: 'cap.test',
      run: () => Promise.resolve(succeeded()),
    });
    const order = orderFor(effectOf({ kind: 'work' }));
    const context = contextFor({ effectId: order.id, order, epoch: 1 });
    expect(await codeOf(capability.run({ with: {}, context: {} }, context))).toBe(
      'EXECUTOR_INVALID_ARGUMENTS',
    );
  });
});

describe('the result of a step', () => {
  test('a step must return a result', async () => {
    const wrong = stageOf(() => Promise.resolve({ outcome: 'perhaps' } as never));
    await expect(wrong()).rejects.toThrow('Invalid option');
  });

  test('a git error is a failure of work, and an unknown outcome of an effect', async () => {
    const merge: RunStage = async (_, tools) => {
      await tools.git().run(['rev-parse', '--verify', 'nothing']);
      return succeeded();
    };
    expect(await stageOf(merge)()).toMatchObject({
      outcome: 'failed',
      exitCode: 1,
      detail: expect.stringContaining('git rev-parse') as string,
    });
    await expect(stageOf(merge)({ kind: 'merge' })).rejects.toThrow('git rev-parse');
  });

  test('an interrupted step has no result, so that it is repeated', async () => {
    const controller = new AbortController();
    const capability = stageOf(async (_, tools) => {
      const { cancelled } = await tools.script('touch ready; sleep 300');
      tools.git();
      expect(cancelled).toBe(true);
      await tools.git().head();
      return failed('not reached');
    });
    const ended = capability({ signal: controller.signal }).catch((error: unknown) => error);
    await vi.waitFor(() => expect(repository.has('ready')).toBe(true), { timeout: 30_000 });
    controller.abort();
    expect(await ended).toBeInstanceOf(OutcomeUnknown);
  });
});

describe('commands of a step', () => {
  test('commands are shown line by line, and see nothing of the executor', async () => {
    const lines: string[] = [];
    const capability = stageOf(async (_, tools) => {
      const result = await tools.script('pwd; env | cut -d= -f1 | sort | tr "\\n" " " >&2', {
        env: { MINE: 'x' },
      });
      await tools.script('echo quiet', { quiet: true });
      return succeeded(result.stderr);
    });
    const { detail = '' } = await capability({ lines });
    expect(
      detail
        .trim()
        .split(' ')
        .filter((name) => !['_', 'OLDPWD'].includes(name)),
    ).toEqual(['HOLDPOINT_WORK', 'HOME', 'LANG', 'MINE', 'PATH', 'PWD', 'TERM']);
    expect(lines).toEqual([repository.root, expect.stringContaining('HOLDPOINT_WORK')]);
  });

  test('commands do not begin once the lease of the work is over', async () => {
    const over = (): never => {
      throw new CleanFailure({ code: 'EXECUTOR_TARGET_UNAVAILABLE', message: 'over' });
    };
    const capability = stageOf(async (_, tools) => {
      await tools.script('touch ran');
      return succeeded();
    });
    expect(await codeOf(capability({ assertInForce: over }))).toBe('EXECUTOR_TARGET_UNAVAILABLE');
    expect(repository.has('ran')).toBe(false);
  });
});

describe('a repeated step', () => {
  const shell = 'cap.env.shell.command.run';
  const input = (command: string): Partial<StepInput> => ({ with: { command }, context: WORKTREE });

  test('a repeated step finds the worktree as it was before its first start', async () => {
    await prepare();
    const append = {
      input: input(
        'echo line >> log; cat log; git -c user.name=a -c user.email=a@b commit --quiet --allow-empty -m x',
      ),
    };
    for (let time = 1; time <= 3; time += 1)
      expect(await stagesOf(repository)(shell, append)).toMatchObject({ outputs: { stdout: 'line\n' } });
    expect(repository.git('rev-list', '--count', 'topic')).toBe('2');
    // Another step continues from there.
    expect(await stagesOf(repository)(shell, { ...append, key: 'next' })).toMatchObject({
      outputs: { stdout: 'line\nline\n' },
    });
  });

  test('a repeated step begins when all earlier processes have ended', async () => {
    await prepare();
    const cwd = inWorktree('');
    const { id, effect, attempt } = orderFor(
      effectOf({ uses: shell, kind: 'work', idempotencyKey: 'key', node: 'node' as never }),
    );
    const of = { effectId: id, repository: repository.root, task: effect.task, node: effect.node, attempt };
    const agent = 'echo $$ > ../pid; while :; do echo x >> agent; sleep 0.05; done';
    const before = beginWork(repository.state, of, cwd, agent);
    try {
      await vi.waitFor(() => expect(existsSync(inWorktree('agent'))).toBe(true), { timeout: 30_000 });
    } finally {
      await before.kill();
    }
    // Without a reaper dead processes stay as zombies.
    const script = 'cut -d" " -f3 "/proc/$(cat ../pid)/stat" 2>&1';
    const result = await stagesOf(repository)(shell, { epoch: 2, input: input(script) });
    expect(result.outputs?.['stdout']).toMatch(/^Z$|No such file/m);
    expect(existsSync(inWorktree('agent'))).toBe(true);
  });

  test('a repeated step in this executor ends the earlier start', async () => {
    await prepare();
    const stage = stagesOf(repository);
    const begun = stage(shell, { input: input('echo $$ > ../first; sleep 300') });
    const ended = begun.catch((error: unknown) => error);
    await vi.waitFor(() => expect(existsSync(inWorktree('../first'))).toBe(true), { timeout: 30_000 });
    const second = await stage(shell, { epoch: 3, input: input('kill -0 "$(cat ../first)" || echo alone') });
    expect(await ended).toBeInstanceOf(OutcomeUnknown);
    expect(second).toMatchObject({ outcome: 'succeeded', outputs: { stdout: 'alone\n' } });
  });

  test("a repeated step leaves the operator's checkout as it is", async () => {
    const append = { input: { with: { command: 'echo line >> log; cat log' } } };
    const stage = stagesOf(repository);
    expect(await stage(shell, append)).toMatchObject({ outputs: { stdout: 'line\n' } });
    expect(await stage(shell, append)).toMatchObject({ outputs: { stdout: 'line\nline\n' } });
    expect(repository.git('for-each-ref', 'refs/holdpoint')).toBe('');
  });
});
