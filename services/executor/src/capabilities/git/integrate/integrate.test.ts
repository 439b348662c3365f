import { execFileSync } from 'node:child_process';
import { access, chmod } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type PlanRepository, planRepository, type StepAs } from '../../../../testing/plan-repository.ts';
import { followMove } from '../branches/checkout.ts';
import { previewIntegration } from './preview.ts';
import { CleanFailure } from '../../../ports/capability.ts';
import { probeIntegration } from './probe.ts';
import { revertIntegration } from './revert.ts';
import { integratePlanBranch } from './integrate.ts';

let repository: PlanRepository;
beforeEach(async () => {
  repository = await planRepository(process.env);
});
afterEach(() => repository.remove());

const PLAN = '.holdpoint/plans/oak.md';
const PLAN_TEXT = '# Oak\n\nGrow it.\n';

/** A branch draft/oak with a plan; main is checked out and has moved on meanwhile. */
const plan = async (): Promise<void> => {
  await repository.commit('draft/oak', {
    'a.txt': 'one\nTWO\nthree\n',
    'new.txt': 'new\n',
    [PLAN]: PLAN_TEXT,
  });
  await repository.commit('main', { 'b.txt': 'bee\n' });
};

const previewed = async (args: JsonObject = {}): Promise<JsonObject> => {
  const { outcome, outputs, detail } = await repository.step(previewIntegration, {
    args: { slug: 'oak', target: 'main', ...args },
  });
  expect([outcome, detail]).toEqual(['succeeded', detail]);
  return outputs ?? {};
};

const integrate = (preview: JsonObject, as: StepAs = {}) =>
  repository.step(integratePlanBranch, { preview }, { effect: true, ...as });

const idIn = (preview: JsonObject, name: string): string => {
  const id = preview[name];
  return typeof id === 'string' ? id : '';
};
const tip = (branch: string): Promise<string> => repository.git('rev-parse', branch);
const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

describe('an approved merge', () => {
  beforeEach(plan);

  test('a squashed merge is one commit on the target that names the plan', async () => {
    const [before, preview] = [await tip('main'), await previewed({ message: 'feat: an oak' })];
    const result = await integrate(preview);
    expect(result).toMatchObject({
      outcome: 'succeeded',
      outputs: { commit: await tip('main'), already: false, source_deleted: false },
      context: { commit: await tip('main'), target: 'main', slug: 'oak' },
    });
    expect(await repository.git('log', '-1', '--format=%P', 'main')).toBe(before);
    expect(await repository.git('log', '-1', '--format=%an <%ae>%n%B', 'main')).toBe(
      `Ada <ada@example.org>\nfeat: an oak\n\n${PLAN_TEXT.trimEnd()}`,
    );
    expect(await repository.git('ls-tree', '-r', '--name-only', 'main')).toBe('a.txt\nb.txt\nnew.txt');
  });

  test('a merge removes the plan document from the source as well', async () => {
    const before = await tip('draft/oak');
    await integrate(await previewed());
    expect(await repository.git('ls-tree', '-r', '--name-only', 'draft/oak')).toBe('a.txt\nb.txt\nnew.txt');
    expect(await repository.git('rev-parse', 'draft/oak^')).toBe(before);
  });

  test('an unsquashed merge has the final source as its second parent', async () => {
    const before = await tip('main');
    await integrate(await previewed({ squash: false }));
    expect(await repository.git('log', '-1', '--format=%P', 'main')).toBe(
      `${before} ${await tip('draft/oak')}`,
    );
  });

  test('the checkout of the target is updated', async () => {
    await integrate(await previewed());
    expect(await repository.git('status', '--porcelain')).toBe('');
    expect(await repository.read('a.txt')).toBe('one\nTWO\nthree\n');
    expect(await repository.read('new.txt')).toBe('new\n');
  });

  test('a target without a checkout is merged as well', async () => {
    await repository.git('checkout', '--quiet', '-b', 'elsewhere');
    const preview = await previewed();
    await integrate(preview);
    expect(await tip('main')).toBe(preview['commit']);
    expect(await repository.read('a.txt')).toBe('one\ntwo\nthree\n');
  });

  test('the source is deleted on request, even with a task worktree on it', async () => {
    await repository.git('worktree', 'add', '--quiet', '.holdpoint/worktrees/w', 'draft/oak');
    const result = await integrate(await previewed({ delete_branch: 'true' }));
    expect(result.outputs).toMatchObject({ source_deleted: true });
    expect(await repository.has('draft/oak')).toBe(false);
    const inside = ['-C', '.holdpoint/worktrees/w', 'status', '--porcelain'];
    expect(await repository.git(...inside)).toBe('');
  });

  test('a source that a user has checked out is not deleted', async () => {
    await repository.git('worktree', 'add', '--quiet', join(repository.outside, 'mine'), 'draft/oak');
    const result = await integrate(await previewed({ delete_branch: true }));
    expect(result.outcome).toBe('succeeded');
    expect(result.detail).toContain('draft/oak was not deleted: it is checked out at');
    expect(await repository.has('draft/oak')).toBe(true);
  });

  test('a worktree of the source follows when its plan document is removed', async () => {
    await repository.git('worktree', 'add', '--quiet', '.holdpoint/worktrees/w', 'draft/oak');
    await integrate(await previewed());
    expect(await repository.git('-C', '.holdpoint/worktrees/w', 'status', '--porcelain')).toBe('');
    expect(await isThere(join(repository.path, '.holdpoint/worktrees/w', PLAN))).toBe(false);
  });

  test('a merge removes the sentinel of its plan', async () => {
    const preview = await previewed();
    await repository.write('.holdpoint/tmp/merge-conflicts/oak.json', '{}');
    await integrate(preview);
    expect(await isThere(join(repository.path, '.holdpoint/tmp/merge-conflicts/oak.json'))).toBe(false);
  });

  test('a source that the target already contains makes no commit', async () => {
    await integrate(await previewed());
    const before = await tip('main');
    const again = await previewed();
    expect(again['already']).toBe(true);
    expect((await integrate(again, { node: 'again' })).detail).toContain('nothing to merge');
    expect(await tip('main')).toBe(before);
  });
});

describe('an approval that no longer holds', () => {
  let preview: JsonObject;
  beforeEach(async () => {
    await plan();
    preview = await previewed();
  });

  test.each(['main', 'draft/oak'])('nothing is merged when %s has moved', async (branch) => {
    await repository.commit(branch, { 'c.txt': 'c\n' });
    await repository.git('checkout', '--quiet', 'main');
    const before = await tip('main');
    await expect(integrate(preview)).rejects.toMatchObject({
      body: {
        code: 'EXECUTOR_TARGET_REFUSED',
        message: expect.stringContaining('moved since it was approved') as string,
      },
    });
    expect(await tip('main')).toBe(before);
  });

  test('a merge loses against a last-moment move of the target', async () => {
    const parent = await tip('main');
    const tree = await repository.git('rev-parse', 'main^{tree}');
    const other = await repository.git('commit-tree', tree, '-p', parent, '-m', 'first');
    await repository.git('checkout', '--quiet', '--detach');
    const assertInForce = (): void => {
      execFileSync('git', ['update-ref', 'refs/heads/main', other], { cwd: repository.path });
    };
    await expect(integrate(preview, { context: { assertInForce } })).rejects.toThrow('moved since');
    expect(await tip('main')).toBe(other);
  });

  test('a merge with another result than the preview is refused', async () => {
    const tree = await repository.git('rev-parse', 'draft/oak^{tree}');
    const forged = await repository.git('commit-tree', tree, '-p', await tip('main'), '-m', 'forged');
    const before = await tip('main');
    await expect(integrate({ ...preview, commit: forged })).rejects.toThrow(
      'other commits than the approved ones',
    );
    expect(await tip('main')).toBe(before);
  });

  test('a merge with an expired lease changes nothing', async () => {
    const before = await tip('main');
    const assertInForce = (): void => {
      throw new Error('over');
    };
    await expect(integrate(preview, { context: { assertInForce } })).rejects.toThrow('over');
    expect(await tip('main')).toBe(before);
  });

  test('a merge without a preview is refused', async () => {
    await expect(integrate({})).rejects.toMatchObject({ body: { code: 'EXECUTOR_INVALID_ARGUMENTS' } });
  });
});

describe('a dirty checkout of the target', () => {
  let preview: JsonObject;
  beforeEach(async () => {
    await plan();
    preview = await previewed();
  });

  const keeps = async (why: string): Promise<void> => {
    const before = await tip('main');
    // A clean failure: the next attempt checks again.
    await expect(integrate(preview)).rejects.toMatchObject({
      name: 'CleanFailure',
      body: { code: 'EXECUTOR_TARGET_REFUSED', message: expect.stringContaining(why) as string },
    });
    expect(await tip('main')).toBe(before);
  };

  test('uncommitted changes are refused before the target moves', async () => {
    await repository.write('b.txt', 'mine\n');
    await keeps('uncommitted changes: b.txt');
    expect(await repository.read('b.txt')).toBe('mine\n');
  });

  test('staged changes are refused', async () => {
    await repository.write('b.txt', 'mine\n');
    await repository.git('add', 'b.txt');
    await keeps('uncommitted changes: b.txt');
  });

  test('an untracked file in the way of the merge is refused', async () => {
    await repository.write('new.txt', 'mine\n');
    await keeps('untracked files would be overwritten: new.txt');
    expect(await repository.read('new.txt')).toBe('mine\n');
  });

  test('an ignored file in the way of the merge is refused', async () => {
    await repository.write('.git/info/exclude', 'new.txt\n');
    await repository.write('new.txt', 'mine\n');
    await keeps('new.txt');
  });

  test('a merge under way in the checkout is refused', async () => {
    await repository.write('.git/MERGE_HEAD', `${await tip('draft/oak')}\n`);
    await keeps('MERGE_HEAD');
  });

  test('a running git in the checkout is refused', async () => {
    await repository.write('.git/index.lock', '');
    await keeps('index.lock');
  });

  test('an untracked file elsewhere does not block the merge', async () => {
    await repository.write('notes.txt', 'mine\n');
    expect((await integrate(preview)).outcome).toBe('succeeded');
    expect(await repository.read('notes.txt')).toBe('mine\n');
  });
});

describe('repeating an interrupted merge', () => {
  let preview: JsonObject;
  beforeEach(async () => {
    await plan();
    preview = await previewed();
  });

  const checkFinished = async (): Promise<void> => {
    const result = await integrate(preview);
    expect(result).toMatchObject({ outcome: 'succeeded', outputs: { commit: preview['commit'] } });
    expect(await tip('main')).toBe(preview['commit']);
    expect(await repository.git('status', '--porcelain', '--untracked-files=no')).toBe('');
    expect(await repository.read('a.txt')).toBe('one\nTWO\nthree\n');
    expect(await repository.git('ls-tree', '-r', '--name-only', 'draft/oak')).not.toContain(PLAN);
  };
  const moveRef = () => repository.git('update-ref', 'refs/heads/main', idIn(preview, 'commit'));

  test('a repeat after the end changes nothing', async () => {
    await integrate(preview);
    await checkFinished();
  });

  test('a repeat updates the checkout of a moved target', async () => {
    await moveRef();
    await checkFinished();
  });

  test('a repeat finishes a half-updated checkout', async () => {
    await moveRef();
    await repository.write('a.txt', 'one\nTWO\nthree\n');
    await checkFinished();
  });

  test('a repeat finishes a half-updated checkout whose lock was removed', async () => {
    await moveRef();
    await repository.write('new.txt', 'new\n');
    await checkFinished();
  });

  test('a repeat cleans up the source', async () => {
    await moveRef();
    await repository.git('reset', '--quiet', '--hard');
    await checkFinished();
  });

  test('a repeat after the deletion of the source succeeds', async () => {
    await repository.git('update-ref', 'refs/heads/main', idIn(preview, 'target_tip'));
    preview = await previewed({ delete_branch: true });
    await integrate(preview);
    expect(await integrate(preview)).toMatchObject({
      outcome: 'succeeded',
      outputs: { source_deleted: true },
    });
  });

  test('a repeat leaves later commits on the target', async () => {
    await integrate(preview);
    const top = await repository.commit('main', { 'c.txt': 'c\n' });
    expect((await integrate(preview)).outcome).toBe('succeeded');
    expect(await tip('main')).toBe(top);
  });

  test('a repeat keeps changes that users made in the meantime, and notes them', async () => {
    await moveRef();
    await repository.write('a.txt', 'mine\n');
    const result = await integrate(preview);
    expect(result.outcome).toBe('succeeded');
    expect(result.detail).toContain('was not updated');
    expect(await repository.read('a.txt')).toBe('mine\n');
  });

  test('a repeated update of a checkout changes nothing', async () => {
    await integrate(preview);
    await repository.write('a.txt', 'mine\n');
    const move = { branch: 'main', from: idIn(preview, 'target_tip'), to: idIn(preview, 'commit') };
    expect(await repository.with((tools) => followMove(tools, move))).toEqual([]);
    expect(await repository.read('a.txt')).toBe('mine\n');
  });
});

describe('probing a merge', () => {
  let preview: JsonObject;
  beforeEach(async () => {
    await plan();
    preview = await previewed();
  });
  const ask = () => {
    const input = { with: {}, context: {}, preview };
    return repository.with(async (tools) => (await probeIntegration(input, tools)).found);
  };

  test('an open merge is not applied', async () => expect(await ask()).toBe('not_applied'));
  test('a finished merge is applied', async () => {
    await integrate(preview);
    expect(await ask()).toBe('applied');
    await repository.commit('main', { 'c.txt': 'c\n' });
    expect(await ask()).toBe('applied');
  });
  test('a manual merge of the branch is applied', async () => {
    await repository.git('merge', '--quiet', 'draft/oak');
    expect(await ask()).toBe('applied');
  });
  test('the same changes as another commit are applied', async () => {
    await repository.commit('main', { 'a.txt': 'one\nTWO\nthree\n', 'new.txt': 'new\n' });
    expect(await ask()).toBe('applied');
  });
  test('a target that moved elsewhere is not applied', async () => {
    await repository.commit('main', { 'c.txt': 'c\n' });
    expect(await ask()).toBe('not_applied');
  });
  test('a missing target is unknown', async () => {
    await repository.git('checkout', '--quiet', '--detach');
    await repository.git('branch', '-D', 'main');
    expect(await ask()).toBe('unknown');
  });
});

describe('undoing a merge', () => {
  let preview: JsonObject;
  beforeEach(async () => {
    await plan();
    preview = await previewed();
  });
  const undo = (as: StepAs = {}, effectId = 'e-done') =>
    repository.step(
      (input, tools) => revertIntegration({ effectId, input, outputs: {} }, tools),
      { preview },
      { effect: true, node: 'undo', ...as },
    );
  const refusal = async (): Promise<string> => {
    const error = await undo().catch((thrown: unknown) => thrown);
    if (!(error instanceof CleanFailure)) throw new Error(`not refused: ${String(error)}`);
    return error.message;
  };

  test('a merge is reverted by a commit that names the effect, and the checkout follows', async () => {
    await integrate(preview);
    const merged = await tip('main');
    expect(await undo()).toMatchObject({ outputs: { commit: await tip('main'), reverted: merged } });
    expect(await repository.git('rev-parse', 'main^')).toBe(merged);
    expect(await repository.git('rev-parse', 'main^{tree}')).toBe(
      await repository.git('rev-parse', `${idIn(preview, 'target_tip')}^{tree}`),
    );
    expect(await repository.git('log', '-1', '--format=%(trailers:key=Holdpoint-Effect)', 'main')).toContain(
      'Holdpoint-Effect: e-done',
    );
    expect(await repository.read('a.txt')).toBe('one\ntwo\nthree\n');
    expect(await repository.git('status', '--porcelain')).toBe('');
  });

  test('a revert keeps later commits', async () => {
    await integrate(await previewed({ squash: false }));
    preview = { ...preview, commit: await tip('main') };
    await repository.commit('main', { 'c.txt': 'c\n' });
    await undo();
    expect(await repository.git('ls-tree', '-r', '--name-only', 'main')).toBe('a.txt\nb.txt\nc.txt');
  });

  test('a merge is reverted once, even on repeated requests', async () => {
    await integrate(preview);
    const first = await undo();
    const after = await tip('main');
    expect(await undo()).toEqual(first);
    expect(await tip('main')).toBe(after);
    await repository.commit('main', { 'c.txt': 'c\n' });
    expect(await undo({ context: { epoch: 4 } })).toMatchObject({ outputs: { commit: after } });
  });

  test('an interrupted revert is finished', async () => {
    await integrate(preview);
    const merged = await tip('main');
    await undo();
    await repository.git('read-tree', '-m', '-u', 'main', merged);
    expect(await repository.read('a.txt')).toBe('one\nTWO\nthree\n');
    await undo();
    expect(await repository.read('a.txt')).toBe('one\ntwo\nthree\n');
    expect(await repository.git('status', '--porcelain')).toBe('');
  });

  test('a merge that was reverted by hand is not reverted again', async () => {
    await integrate(preview);
    await repository.git('revert', '--no-edit', 'HEAD');
    const before = await tip('main');
    expect((await undo()).detail).toContain('nothing to do');
    expect(await tip('main')).toBe(before);
  });

  test('a revert is refused without a merge, and on conflicts with later commits', async () => {
    expect(await refusal()).toContain('is not on main');
    await integrate(preview);
    await repository.commit('main', { 'a.txt': 'one\nTHREE\nthree\n' });
    const before = await tip('main');
    expect(await refusal()).toContain('it conflicts in a.txt');
    expect(await tip('main')).toBe(before);
  });

  test('a revert is refused while a checkout of the target has changes', async () => {
    await integrate(preview);
    const before = await tip('main');
    await repository.write('a.txt', 'mine\n');
    expect(await refusal()).toContain('it has uncommitted changes: a.txt');
    expect([await tip('main'), await repository.read('a.txt')]).toEqual([before, 'mine\n']);
  });
});

test('a merge runs no hook of the repository', async () => {
  await plan();
  const preview = await previewed({ squash: false });
  const trace = join(repository.outside, 'ran');
  for (const hook of [
    'reference-transaction',
    'post-checkout',
    'post-merge',
    'post-index-change',
    'pre-commit',
    'commit-msg',
  ]) {
    await repository.write(`.git/hooks/${hook}`, `#!/bin/sh\ntouch ${trace}\n`);
    await chmod(join(repository.path, '.git/hooks', hook), 0o755);
  }
  expect((await integrate(preview)).outcome).toBe('succeeded');
  expect(await isThere(trace)).toBe(false);
});
