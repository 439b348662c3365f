import { appendFileSync, chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CleanFailure } from '../../ports/capability.ts';
import { type StageRepository, stageRepository } from '../../../testing/stage-repository.ts';
import { createGit, type Git } from './git.ts';
import { overridesFor, parseConfig } from './hardening.ts';

let repository: StageRepository;
let git: Git;
/** Is there as soon as anything of the repository's own has run. */
let owned: string;
beforeEach(async () => {
  repository = await stageRepository();
  git = createGit(repository, { env: repository.env });
  owned = join(repository.path, 'owned');
});
afterEach(() => repository.remove());

const PROGRAM = (): string => join(repository.path, 'program');
/** A program that leaves a mark and passes its input through. */
const writeProgram = (): string => {
  writeFileSync(PROGRAM(), `#!/bin/sh\ntouch '${owned}'\ncat\n`);
  chmodSync(PROGRAM(), 0o755);
  return PROGRAM();
};
const config = (key: string, value: string): void => void repository.git('config', '--add', key, value);

/** Everything that the executor does with git. */
const useGit = async (): Promise<void> => {
  await git.status();
  await git.createBranch('topic');
  repository.write('a.txt', 'two\n');
  repository.write('x.dat', 'data\n');
  await git.stage('all');
  const commit = await git.commit('second');
  if (commit === undefined) throw new Error('nothing was committed');
  await git.diffstat('topic', commit);
  await git.patch('topic', commit);
  await git.run(['log', '-p', '-2', '--end-of-options', commit]);
  await git.mergeTree('topic', commit);
  const path = join(repository.path, 'worktree');
  await git.worktreeAdd(path, { branch: 'topic' });
  const inside = createGit(repository, { env: repository.env }, path);
  await inside.run(['merge', '--no-ff', '--no-edit', commit]);
  await inside.run(['reset', '--quiet', '--hard', 'HEAD^']);
  await git.worktreeRemove(path);
  await git.worktreePrune();
};

describe('programs in the configuration of a repository', () => {
  const hooks = [
    'pre-commit',
    'commit-msg',
    'prepare-commit-msg',
    'post-commit',
    'post-checkout',
    'post-merge',
    'reference-transaction',
    'post-index-change',
    'pre-merge-commit',
  ];

  test('no hook runs', async () => {
    const program = writeProgram();
    for (const hook of hooks) {
      writeFileSync(join(repository.root, '.git', 'hooks', hook), `#!/bin/sh\n${program} < /dev/null\n`);
      chmodSync(join(repository.root, '.git', 'hooks', hook), 0o755);
    }
    // They do run in an unprotected git.
    repository.git('commit', '--quiet', '--allow-empty', '--message=by hand');
    expect(existsSync(owned)).toBe(true);
    repository.git('-c', 'core.hooksPath=/dev/null', 'status');
    rmSync(owned);
    await useGit();
    expect(existsSync(owned)).toBe(false);
  });

  test('no hook runs from another folder or an included file', async () => {
    const folder = join(repository.path, 'hooks');
    mkdirSync(folder);
    for (const hook of hooks) {
      writeFileSync(join(folder, hook), `#!/bin/sh\ntouch '${owned}'\n`);
      chmodSync(join(folder, hook), 0o755);
    }
    const included = join(repository.path, 'included');
    writeFileSync(included, `[core]\n\thooksPath = ${folder}\n\tfsmonitor = ${writeProgram()}\n`);
    config('include.path', included);
    repository.git('commit', '--quiet', '--allow-empty', '--message=by hand');
    expect(existsSync(owned)).toBe(true);
    rmSync(owned);
    await useGit();
    expect(existsSync(owned)).toBe(false);
  });

  test('no fsmonitor, signature program, editor, pager, differ or credential helper runs', async () => {
    const program = writeProgram();
    config('core.fsmonitor', program);
    config('commit.gpgSign', 'true');
    config('gpg.program', program);
    config('gpg.format', 'ssh');
    config('gpg.ssh.program', program);
    config('gpg.ssh.defaultKeyCommand', program);
    config('log.showSignature', 'true');
    config('core.editor', program);
    config('sequence.editor', program);
    config('core.pager', program);
    config('pager.log', program);
    config('pager.status', 'true');
    config('diff.external', program);
    config('credential.helper', `!${program}`);
    config('core.sshCommand', program);
    config('core.askPass', program);
    config('alias.status', `!${program}`);
    config('hook.mine.command', program);
    config('hook.mine.event', 'pre-commit');
    config('trailer.x.command', program);
    await useGit();
    expect(existsSync(owned)).toBe(false);
  });

  test('no configured differ for a file type runs', async () => {
    const program = writeProgram();
    for (const name of ['x', 'a=b.c', 'UPPER lower']) {
      config(`diff.${name}.textconv`, program);
      config(`diff.${name}.command`, program);
    }
    writeFileSync(join(repository.root, '.gitattributes'), '*.txt diff=x\n*.dat diff=a=b.c\n');
    await useGit();
    expect(existsSync(owned)).toBe(false);
  });

  test('no merge driver runs: its files are conflicts', async () => {
    const program = writeProgram();
    config('merge.x.driver', `${program} < %A`);
    config('merge.x.recursive', 'x');
    config('merge.a=b.driver', program);
    repository.write('.gitattributes', '*.txt merge=x\n*.dat merge=a=b\n');
    repository.write('x.dat', 'base\n');
    repository.git('add', '--all');
    repository.git('commit', '--quiet', '--message=base');
    const base = repository.git('rev-parse', 'HEAD');
    const sides = ['one', 'two'].map((side) => {
      repository.git('checkout', '--quiet', '-B', side, base);
      repository.write('a.txt', `side ${side}\n`);
      repository.write('x.dat', `${side}\n`);
      repository.git('commit', '--quiet', '--all', `--message=${side}`);
      return repository.git('rev-parse', 'HEAD');
    });
    const { conflicts } = await git.mergeTree(sides[0] ?? '', sides[1] ?? '');
    expect(conflicts).toEqual(['a.txt', 'x.dat']);
    expect(existsSync(owned)).toBe(false);
  });

  test('no program runs as a transport', async () => {
    const program = writeProgram();
    config('protocol.allow', 'always');
    config('protocol.ext.allow', 'always');
    config('remote.origin.url', `ext::${program}`);
    config('remote.origin.uploadpack', program);
    config('core.gitProxy', program);
    await expect(git.run(['fetch', 'origin'])).rejects.toThrow("transport 'ext' not allowed");
    expect(existsSync(owned)).toBe(false);
  });

  test('no program of a submodule runs', async () => {
    repository.git('init', '--quiet', 'sub');
    repository.write('sub/x', 'x');
    repository.git('-C', 'sub', 'add', '--all');
    const asAuthor = ['-C', 'sub', '-c', 'user.name=a', '-c', 'user.email=a'];
    repository.git(...asAuthor, 'commit', '--quiet', '--message=sub');
    repository.git('add', 'sub');
    repository.git('commit', '--quiet', '--message=with a submodule');
    // Both its commit and its files change.
    repository.git('-C', 'sub', 'checkout', '--quiet', '--detach');
    repository.git(...asAuthor, 'commit', '--quiet', '--allow-empty', '--message=next');
    // Of the same size, so that git must read the content.
    repository.write('sub/x', 'y');
    // The overrides apply there as well, except for names that only the submodule configures.
    repository.git('-C', 'sub', 'config', 'filter.of-its-own.clean', writeProgram());
    repository.git('-C', 'sub', 'config', 'core.fsmonitor', PROGRAM());
    repository.write('sub/.git/info/attributes', 'x filter=of-its-own\n');
    repository.git('status');
    expect(existsSync(owned)).toBe(true);
    rmSync(owned);
    await git.stage(['sub', '.']);
    await useGit();
    expect(existsSync(owned)).toBe(false);
    expect(repository.git('log', '-1', '--name-only', '--format=')).toBe('a.txt\nsub\nx.dat');
    expect(repository.git('rev-parse', 'HEAD:sub')).toBe(repository.git('-C', 'sub', 'rev-parse', 'HEAD'));
  });
});

describe('filters', () => {
  test.each(['x', 'a=b', 'process'])(
    'a filter called %s never runs, and its files are refused',
    async (name) => {
      const program = writeProgram();
      for (const step of ['clean', 'smudge', 'process']) config(`filter.${name}.${step}`, program);
      config(`filter.${name}.required`, 'true');
      writeFileSync(join(repository.root, '.gitattributes'), `*.dat filter=${name}\n`);
      await git.status();
      repository.write('b.txt', 'no filter needed');
      await git.stage(['b.txt', '.gitattributes']);
      const commit = await git.commit('attributes');
      expect(commit).toBeDefined();
      repository.write('x.dat', 'data');
      const refused = git.stage('all');
      await expect(refused).rejects.toThrow(CleanFailure);
      await expect(refused).rejects.toThrow(`x.dat needs the git filter "${name}"`);
      expect(existsSync(owned)).toBe(false);
    },
  );

  test('a worktree whose files need a filter is not created', async () => {
    repository.write('.gitattributes', '*.dat filter=lfs\n');
    repository.write('x.dat', 'pointer');
    repository.git('add', '--all');
    repository.git('commit', '--quiet', '--message=with an unknown filter');
    const path = join(repository.path, 'worktree');
    await git.worktreeAdd(path, { branch: 'main' });
    await git.worktreeRemove(path);
    config('filter.lfs.smudge', writeProgram());
    await expect(git.worktreeAdd(path, { branch: 'main' })).rejects.toThrow(
      'x.dat needs the git filter "lfs"',
    );
    expect(existsSync(path)).toBe(false);
    expect(await git.worktreeList()).toHaveLength(1);
    expect(existsSync(owned)).toBe(false);
  });

  test('a filter that is configured later is noticed at once', async () => {
    await git.status();
    appendFileSync(join(repository.root, '.git', 'config'), `[filter "late"]\n\tclean = ${writeProgram()}\n`);
    repository.write('.gitattributes', '*.dat filter=late\n');
    repository.write('x.dat', 'data');
    await expect(git.stage('all')).rejects.toThrow('x.dat needs the git filter "late"');
    expect(existsSync(owned)).toBe(false);
  });
});

test('a name with an equals sign cannot redirect an override', () => {
  const overrides = overridesFor(parseConfig('filter.a=b.clean\nrm\0user.name\nAda\0user.email\n\0'));
  expect(overrides).toContainEqual({ key: 'filter.a=b.clean', value: '' });
  expect(overrides.map(({ key }) => key)).not.toContain('user.name');
  expect(overrides).toContainEqual({ key: 'user.email', value: 'holdpoint@localhost' });
});
