import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StepResult } from '@holdpoint/contracts/task/step';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createHandlerRegistry } from '../../../ports/handler-registry.ts';
import {
  capabilitiesOf,
  type Ordered,
  startOf,
  type StageRepository,
  stageRepository,
} from '../../../../testing/stage-repository.ts';

const ROLLBACK = 'cap.env.builtin.git.rollback';
const WORKTREE = '.holdpoint/worktrees/work-t-1-node';
const SAVED = 'refs/holdpoint/saved/t-1/node/2';

let repository: StageRepository;
let good: string;
beforeEach(async () => {
  repository = await stageRepository();
  repository.write('.gitignore', '*.o\n');
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '--message=good');
  good = repository.git('rev-parse', 'HEAD');
  repository.git('worktree', 'add', '--quiet', '-b', 'draft/oak', WORKTREE);
});
afterEach(() => repository.remove());

const inTree = (...argv: readonly string[]): string => repository.git('-C', WORKTREE, ...argv);
const head = (): string => inTree('rev-parse', 'HEAD');
const write = (path: string, text: string): void => repository.write(`${WORKTREE}/${path}`, text);
const read = (path: string): string => repository.read(`${WORKTREE}/${path}`);
const has = (path: string): boolean => repository.has(`${WORKTREE}/${path}`);

type With = NonNullable<Ordered['input']>['with'];
const args = (change: With = {}): NonNullable<With> => ({
  commit: good,
  worktree: WORKTREE,
  branch: 'draft/oak',
  isolated: true,
  saved: 't-1/node/2',
  ...change,
});
const shared = (change: With = {}): NonNullable<With> => {
  const { worktree: _, ...rest } = args({ isolated: false, branch: 'main', ...change });
  return rest;
};

const carried = async (uses: string, ordered: Ordered): Promise<StepResult> => {
  const carrier = createHandlerRegistry([capabilitiesOf(repository)(ROLLBACK)]).get(uses);
  if (carrier === undefined) throw new Error(`nothing is called ${uses}`);
  const { input, context } = startOf({ uses }, repository.root, ordered);
  return StepResult.parse(await carrier.run(input, context));
};
const preview = (given = args()): Promise<StepResult> =>
  carried(`${ROLLBACK}.preview`, { input: { with: given } });
/** As the orchestrator orders it: with the preview. */
const rollBack = async (given = args(), ordered: Ordered = {}): Promise<StepResult> => {
  const shown = ordered.input?.preview ?? (await preview(given)).outputs;
  return carried(ROLLBACK, {
    kind: 'destructive_edit',
    ...ordered,
    input: { with: given, ...(shown !== undefined && { preview: shown }) },
  });
};
const refusal = (ended: Promise<unknown>): Promise<string | undefined> =>
  ended.then(
    () => 'it was done',
    (error: { readonly body?: { readonly code: string } }) => error.body?.code,
  );

/** Commits, and leaves more: changed, staged, new, ignored, and gone. */
const breakIt = (): string => {
  write('a.txt', 'broken\n');
  write('new.txt', 'new\n');
  inTree('add', '--all');
  inTree('commit', '--quiet', '--message=broken');
  write('a.txt', 'more broken\n');
  write('staged.txt', 'staged\n');
  inTree('add', 'staged.txt');
  write('folder/untracked.txt', 'untracked\n');
  write('built.o', 'ignored\n');
  return head();
};

describe('previewing a rollback', () => {
  test('a preview shows the removed commits, and changes nothing', async () => {
    const broken = breakIt();
    expect(await preview()).toMatchObject({
      outcome: 'succeeded',
      outputs: {
        head: broken,
        branch: 'draft/oak',
        commit: good,
        commits: [{ id: broken, subject: 'broken' }],
        dirty: ['a.txt', 'staged.txt', 'folder/untracked.txt'],
        already: false,
      },
    });
    expect(head()).toBe(broken);
    expect(repository.git('for-each-ref', 'refs/holdpoint')).toBe('');
  });

  test('a preview reports that there is nothing to do', async () => {
    expect(await preview()).toMatchObject({ outputs: { commits: [], dirty: [], already: true } });
    write('x', '');
    expect(await preview()).toMatchObject({ outputs: { dirty: ['x'], already: false } });
  });

  test('a preview fails for a commit that is not an ancestor', async () => {
    expect(await preview(args({ commit: '1'.repeat(40) }))).toMatchObject({
      outcome: 'failed',
      detail: expect.stringContaining('no such commit') as string,
    });
    repository.write('b', '');
    repository.git('add', 'b');
    repository.git('commit', '--quiet', '--message=elsewhere');
    expect(await preview(args({ commit: repository.git('rev-parse', 'main') }))).toMatchObject({
      outcome: 'failed',
      detail: expect.stringContaining('is not an ancestor') as string,
    });
  });
});

describe('rolling back', () => {
  test('a rollback resets the worktree and its branch, and keeps the old state', async () => {
    const broken = breakIt();
    const result = await rollBack();
    expect(result).toMatchObject({
      outcome: 'succeeded',
      outputs: { head: broken, commit: good, saved: `${SAVED}/1` },
    });
    expect(result.detail).toContain(`the old state is kept under ${SAVED}/1`);
    expect([head(), inTree('symbolic-ref', 'HEAD'), inTree('status', '--porcelain')]).toEqual([
      good,
      'refs/heads/draft/oak',
      '',
    ]);
    expect([read('a.txt'), has('new.txt'), has('staged.txt'), has('folder'), read('built.o')]).toEqual([
      'one\n',
      false,
      false,
      false,
      'ignored\n',
    ]);
    const kept = (path: string): string => repository.git('show', `${SAVED}/1:${path}`);
    expect(['a.txt', 'new.txt', 'staged.txt', 'folder/untracked.txt'].map(kept)).toEqual([
      'more broken',
      'new',
      'staged',
      'untracked',
    ]);
    expect(repository.git('rev-parse', `${SAVED}/1^`)).toBe(broken);
    expect(repository.git('status', '--porcelain', '--', 'a.txt')).toBe('');
  });

  test('a rollback without other changes keeps the commits only', async () => {
    write('a.txt', 'broken\n');
    inTree('commit', '--quiet', '--all', '--message=broken');
    const broken = head();
    await rollBack();
    expect(repository.git('rev-parse', `${SAVED}/1`)).toBe(broken);
  });

  test('a rollback keeps ignored files that it overwrites', async () => {
    write('a.txt', '');
    inTree('rm', '--quiet', '--force', 'a.txt');
    write('.gitignore', 'a.txt\n');
    inTree('commit', '--quiet', '--all', '--message=ignored from now on');
    write('a.txt', 'a secret\n');
    await rollBack();
    expect(read('a.txt')).toBe('one\n');
    expect(repository.git('show', `${SAVED}/1:a.txt`)).toBe('a secret');
  });

  test('a rollback ends a merge under way', async () => {
    write('a.txt', 'theirs\n');
    inTree('commit', '--quiet', '--all', '--message=theirs');
    repository.write('a.txt', 'ours\n');
    repository.git('commit', '--quiet', '--all', '--message=ours');
    expect(() => inTree('merge', '--quiet', 'main')).toThrow('Command failed');
    await rollBack();
    expect([head(), inTree('status', '--porcelain')]).toEqual([good, '']);
    expect(() => inTree('rev-parse', '--verify', '--quiet', 'MERGE_HEAD')).toThrow('Command failed');
  });

  test('a repeated rollback finds itself done, and keeps later files', async () => {
    const broken = breakIt();
    const shown = (await preview()).outputs ?? {};
    await rollBack(args(), { input: { preview: shown } });
    write('later', 'later\n');
    expect(await rollBack(args(), { input: { preview: shown }, epoch: 3 })).toMatchObject({
      outcome: 'succeeded',
      detail: expect.stringContaining('already rolled back') as string,
      outputs: { head: broken, commit: good, saved: `${SAVED}/1` },
    });
    expect(has('later')).toBe(true);
    expect(repository.git('for-each-ref', '--format=%(refname)', 'refs/holdpoint')).toBe(`${SAVED}/1`);
  });

  test('an interrupted rollback is finished', async () => {
    const broken = breakIt();
    const shown = (await preview()).outputs ?? {};
    // The branch had been moved, and nothing else.
    repository.git('update-ref', `${SAVED}/1`, broken);
    repository.git('update-ref', 'refs/heads/draft/oak', good);
    writeFileSync(join(inTree('rev-parse', '--absolute-git-dir'), 'index.lock'), '');
    const result = await rollBack(args(), { input: { preview: shown }, epoch: 3 });
    expect(result).toMatchObject({ outcome: 'succeeded', outputs: { saved: `${SAVED}/1` } });
    expect([head(), inTree('status', '--porcelain'), read('a.txt')]).toEqual([good, '', 'one\n']);
    expect(repository.git('show', `${SAVED}/2:a.txt`)).toBe('more broken');
  });

  test('a rollback to the present commit does nothing', async () => {
    expect(await rollBack()).toMatchObject({
      outcome: 'succeeded',
      detail: expect.stringContaining('nothing to do') as string,
      outputs: { head: good, commit: good },
    });
  });

  test('a rollback runs no program of the repository', async () => {
    breakIt();
    for (const hook of ['post-checkout', 'reference-transaction', 'post-index-change']) {
      const path = join(repository.root, '.git/hooks', hook);
      writeFileSync(path, `#!/bin/sh\ntouch ${repository.root}/ran\n`);
      chmodSync(path, 0o755);
    }
    await rollBack();
    expect(repository.has('ran')).toBe(false);
  });
});

describe('clean failures of a rollback', () => {
  test('a worktree that moved since the preview is refused', async () => {
    breakIt();
    const shown = (await preview()).outputs ?? {};
    inTree('commit', '--quiet', '--all', '--message=somebody else');
    const moved = head();
    expect(await refusal(rollBack(args(), { input: { preview: shown } }))).toBe('EXECUTOR_TARGET_REFUSED');
    expect(head()).toBe(moved);
    expect(repository.git('for-each-ref', 'refs/holdpoint')).toBe('');
  });

  test('an expired lease or a git error changes nothing', async () => {
    const broken = breakIt();
    const over = (): never => {
      throw Object.assign(new Error('over'), { body: { code: 'OVER' } });
    };
    expect(await refusal(rollBack(args(), { assertInForce: over }))).toBe('OVER');
    expect([head(), read('a.txt')]).toEqual([broken, 'more broken\n']);
  });

  test.each<[string, With]>([
    ['a relative name for a commit', { commit: 'HEAD^' }],
    ['an invalid ref name', { saved: '../x' }],
    ['no branch', { branch: '' }],
    ['isolated as text', { isolated: 'true' }],
  ])('a rollback with %s changes nothing', async (_, change) => {
    breakIt();
    const shown = { head: head(), commit: good };
    const given = args(change);
    if (given['branch'] === '') delete (given as Record<string, unknown>)['branch'];
    expect(await refusal(rollBack(given, { input: { preview: shown } }))).toBe('EXECUTOR_INVALID_ARGUMENTS');
  });

  describe('a rollback without approval', () => {
    const unapproved = async (change: With): Promise<string | undefined> => {
      const broken = breakIt();
      const main = repository.git('rev-parse', 'main');
      const given = args(change);
      const refused = await refusal(rollBack(given, { input: { preview: { head: broken, commit: good } } }));
      expect(await refusal(preview(given))).toBe(refused);
      expect(repository.git('rev-parse', 'draft/oak', 'main').split('\n')).toEqual([broken, main]);
      return refused;
    };

    test('another branch is refused without approval', async () => {
      expect(await unapproved({ branch: 'main' })).toBe('EXECUTOR_TARGET_REFUSED');
    });

    test.each(['.', 'src', '../elsewhere', '.holdpoint/worktrees', '.holdpoint/worktrees/none'])(
      'a folder that is not a task worktree is refused: %s',
      async (worktree) => {
        repository.write('src/x', '');
        expect(await unapproved({ worktree, branch: 'main' })).toBe('EXECUTOR_PATH_REFUSED');
      },
    );

    test('the shared checkout is refused without approval', async () => {
      breakIt();
      const given = shared({ isolated: true });
      expect(await refusal(preview(given))).toBe('EXECUTOR_PATH_REFUSED');
    });

    test('a worktree elsewhere is refused without approval', async () => {
      repository.git('worktree', 'add', '--quiet', '-b', 'b', 'mine');
      expect(await unapproved({ worktree: 'mine', branch: 'b' })).toBe('EXECUTOR_PATH_REFUSED');
    });

    test('a folder that claims to be the shared checkout is refused', async () => {
      const given = args({ branch: 'main' });
      writeFileSync(join(repository.root, WORKTREE, '.git'), `gitdir: ${repository.root}/.git\n`);
      expect(await refusal(preview(given))).toBe('EXECUTOR_PATH_REFUSED');
    });

    test('a folder that claims another work tree is refused', async () => {
      repository.git('config', 'extensions.worktreeConfig', 'true');
      inTree('config', '--worktree', 'core.worktree', repository.root);
      expect(await refusal(preview())).toBe('EXECUTOR_PATH_REFUSED');
    });
  });
});

describe('the shared checkout', () => {
  test('the shared checkout is rolled back after an approval', async () => {
    repository.write('a.txt', 'broken\n');
    repository.git('commit', '--quiet', '--all', '--message=broken');
    repository.write('mine', 'mine\n');
    const broken = repository.git('rev-parse', 'HEAD');
    expect(await rollBack(shared())).toMatchObject({
      outcome: 'succeeded',
      outputs: { head: broken, commit: good, saved: `${SAVED}/1` },
    });
    expect([repository.git('rev-parse', 'main'), repository.read('a.txt'), repository.has('mine')]).toEqual([
      good,
      'one\n',
      false,
    ]);
    expect(repository.git('show', `${SAVED}/1:mine`)).toBe('mine');
    // The worktrees of tasks are none of its files.
    expect(has('a.txt')).toBe(true);
  });

  test('a locked shared checkout is left unchanged', async () => {
    repository.write('a.txt', 'broken\n');
    repository.git('commit', '--quiet', '--all', '--message=broken');
    const shown = (await preview(shared())).outputs ?? {};
    const lock = join(repository.root, '.git/refs/heads/main.lock');
    writeFileSync(lock, '');
    expect(await refusal(rollBack(shared(), { input: { preview: shown } }))).not.toBe('it was done');
    rmSync(lock);
    expect(repository.read('a.txt')).toBe('broken\n');
  }, 30_000);
});
