import { existsSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { StepInput } from '@holdpoint/contracts/task/step';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type StageRepository, stageRepository, stagesOf } from '../../../../testing/stage-repository.ts';

let repository: StageRepository;
beforeEach(async () => {
  repository = await stageRepository();
});
afterEach(() => repository.remove());

const step = (name: 'stage' | 'commit' | 'stage_commit', input: Partial<StepInput> = {}) =>
  stagesOf(repository)(`cap.env.builtin.git.${name}`, { input });
const plan = { type: 'plan_doc', slug: 'a', branch: '' } as const;
const subject = (): string => repository.git('log', '-1', '--format=%s');
const staged = (): string => repository.git('diff', '--cached', '--name-only');

describe('staging files', () => {
  test('only the named files are staged', async () => {
    for (const file of ['x', 'src/y', '-z', ':w']) repository.write(file, '1');
    rmSync(join(repository.root, 'a.txt'));
    expect(await step('stage', { with: { files_json: '["src/y","-z",":w","a.txt"]' } })).toMatchObject({
      outcome: 'succeeded',
      outputs: { staged: ['src/y', '-z', ':w', 'a.txt'] },
    });
    expect(staged().split('\n')).toEqual(['-z', ':w', 'a.txt', 'src/y']);
  });

  test.each(['.holdpoint/plans/a.md', '.vizier/implementation-plans/a.md'])(
    'the declared plan at %s is staged although it is ignored',
    async (path) => {
      repository.write('.gitignore', '.holdpoint/\n.vizier/\n');
      repository.write(path, 'plan');
      expect(await step('stage', { with: { files_json: '[]' }, produces: [plan] })).toMatchObject({
        outcome: 'succeeded',
      });
      expect(staged()).toBe(path);
    },
  );

  test.each([
    ['../x', /not a path inside/],
    ['/etc/passwd', /not a path inside/],
    ['.git/config', /not a path inside/],
    ['gone', /git add: .*'gone' did not match/],
    ['link/x', /git add: .*beyond a symbolic link/],
  ])('staging of %s fails', async (file, why) => {
    repository.write('x', '1');
    symlinkSync(repository.path, join(repository.root, 'link'));
    const result = await step('stage', { with: { files_json: JSON.stringify([file]) } });
    expect(result.outcome).toBe('failed');
    expect(result.detail).toMatch(why);
    expect(staged()).toBe('');
  });

  test.each(['nonsense', '{}', '[1]', '"x"'])('%s is not a list of files', async (files_json) => {
    expect(await step('stage', { with: { files_json } })).toMatchObject({
      outcome: 'failed',
      detail: expect.stringContaining('expected an array of paths in JSON') as string,
    });
  });

  test('a missing plan document fails, and its expected paths are named', async () => {
    expect(await step('stage', { with: { files_json: '[]' }, produces: [plan] })).toMatchObject({
      outcome: 'failed',
      detail:
        'the plan document of draft/a is missing: expected .holdpoint/plans/a.md or .vizier/implementation-plans/a.md',
    });
  });
});

describe('committing files', () => {
  test('the staged files are committed with the given message', async () => {
    repository.write('x', '1');
    repository.write('y', '1');
    repository.git('add', 'x');
    const result = await step('commit', { with: { message: 'feat: x\n\nWhy.' } });
    expect(result).toMatchObject({
      outcome: 'succeeded',
      outputs: { committed: true, commit: repository.git('rev-parse', 'HEAD'), branch: 'main' },
    });
    expect(repository.git('log', '-1', '--format=%B').trimEnd()).toBe('feat: x\n\nWhy.');
    expect(repository.git('status', '--porcelain')).toBe('?? y');
  });

  test('stage_commit commits all changes and the declared plan', async () => {
    repository.write('.gitignore', '.holdpoint/\n');
    repository.write('.holdpoint/plans/a.md', 'plan');
    repository.write('x', '1');
    rmSync(join(repository.root, 'a.txt'));
    expect(await step('stage_commit', { produces: [plan] })).toMatchObject({ outcome: 'succeeded' });
    expect(repository.git('ls-files').split('\n')).toEqual(['.gitignore', '.holdpoint/plans/a.md', 'x']);
    expect(subject()).toBe('chore: workflow stage commit');
  });

  test('a commit without changes succeeds', async () => {
    const head = repository.git('rev-parse', 'HEAD');
    for (const name of ['commit', 'stage_commit'] as const)
      expect(await step(name)).toEqual({
        outcome: 'succeeded',
        detail: 'nothing to commit',
        outputs: { committed: false },
      });
    expect(repository.git('rev-parse', 'HEAD')).toBe(head);
  });

  test('a commit runs no hook', async () => {
    repository.write('.git/hooks/pre-commit', '#!/bin/sh\ntouch ran\nexit 1\n');
    repository.git('config', 'core.fileMode', 'true');
    rmSync(join(repository.root, '.git/hooks'), { recursive: true });
    symlinkSync(repository.path, join(repository.root, '.git/hooks'));
    repository.write('x', '1');
    expect(await step('stage_commit')).toMatchObject({ outcome: 'succeeded' });
    expect(existsSync(join(repository.root, 'ran'))).toBe(false);
  });
});

describe('the commit message', () => {
  const payloads = {
    'custom:commit_message:main': { text: 'feat: from a payload' },
    'custom:prompt_text:draft': { text: 'a prompt' },
    'custom:prompt_text:main': { text: 'another prompt' },
    'custom:empty:e': { text: ' \n' },
    'custom:none:n': { size: 1 },
  };
  test.each([
    ['commit_message', 'feat: from a payload'],
    ['commit_message:main', 'feat: from a payload'],
    [' draft ', 'a prompt'],
  ])('the message may be that of the artifact %j', async (selector, expected) => {
    repository.write('x', selector);
    const message = `read_payload(${selector})`;
    expect(await step('stage_commit', { with: { commit_message: message }, payloads })).toMatchObject({
      outcome: 'succeeded',
    });
    expect(subject()).toBe(expected);
  });

  test.each([
    ['read_payload(gone)', 'read_payload(gone): the node needs no such artifact'],
    [
      'read_payload(main)',
      'read_payload(main): ambiguous: custom:commit_message:main, custom:prompt_text:main',
    ],
    ['read_payload(none)', 'read_payload(none): custom:none:n has no text'],
    ['read_payload(e)', 'the commit message is empty'],
    ['read_payload()', 'read_payload(): the node needs no such artifact'],
  ])('the message cannot be %s', async (message, detail) => {
    repository.write('x', '1');
    expect(await step('stage_commit', { with: { message }, payloads })).toMatchObject({
      outcome: 'failed',
      detail,
    });
    expect(subject()).toBe('first');
  });
});

describe('a worktree whose branch was taken over', () => {
  const OLD = '.holdpoint/worktrees/old-t-1-node';
  const NEW = '.holdpoint/worktrees/new-t-1-node';
  const prepared = (purpose: string) =>
    stagesOf(repository)('cap.env.builtin.worktree.prepare', {
      key: purpose,
      input: { with: { slug: 'a', purpose } },
    });
  const commitIn = (worktree: string, name: 'commit' | 'stage_commit' = 'stage_commit') =>
    stagesOf(repository)(`cap.env.builtin.git.${name}`, {
      key: `${worktree}-${name}`,
      input: { context: { worktree, branch: 'draft/a' } },
    });

  test.each(['commit', 'stage_commit'] as const)(
    '%s fails, and does not revert the other run',
    async (name) => {
      await prepared('old');
      await prepared('new');
      repository.write(`${NEW}/new.txt`, 'new');
      expect(await commitIn(NEW)).toMatchObject({ outcome: 'succeeded', outputs: { branch: 'draft/a' } });
      repository.write(`${OLD}/old.txt`, 'old');
      expect(await commitIn(OLD, name)).toMatchObject({
        outcome: 'failed',
        detail: `nothing was committed: ${OLD} is on no branch, expected draft/a. Another run may have taken over the branch`,
      });
      expect(repository.git('ls-tree', '-r', '--name-only', 'draft/a').split('\n')).toEqual([
        'a.txt',
        'new.txt',
      ]);
      expect(repository.has(`${OLD}/old.txt`)).toBe(true);
    },
  );

  test('an interrupted step in it is not restored to the branch', async () => {
    await prepared('old');
    repository.write(`${OLD}/old.txt`, 'old');
    // It has begun, and its end was lost.
    await stagesOf(repository)('control.gate.stop_condition', {
      key: 'interrupted',
      input: { context: { worktree: OLD, branch: 'draft/a' }, script: 'true' },
    });
    await prepared('new');
    repository.write(`${NEW}/new.txt`, 'new');
    await commitIn(NEW);
    const tip = repository.git('rev-parse', 'draft/a');
    await stagesOf(repository)('control.gate.stop_condition', {
      key: 'interrupted',
      epoch: 2,
      input: { context: { worktree: OLD, branch: 'draft/a' }, script: 'true' },
    });
    expect(repository.git('rev-parse', 'draft/a')).toBe(tip);
    expect(repository.git('-C', OLD, 'branch', '--show-current')).toBe('');
  });
});
