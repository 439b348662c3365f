import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { checkTree, tagRelease } from './release.ts';

const NOTES = '### Added\n\n- A thing.\n';
const TAG = 'v9.9.9';

const git = (cwd: string, ...args: readonly string[]): string => {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd, encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, expect.any(String)]);
  return stdout;
};

/** A clone with one commit, and a file with notes beside it. */
const cloneOfRelease = (): { readonly clone: string; readonly notes: string } => {
  const folder = mkdtempSync(join(tmpdir(), 'holdpoint-release-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  // Neither the settings nor the hooks of a maintainer count here.
  for (const [name, value] of Object.entries({
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_SYSTEM: '/dev/null',
    GIT_AUTHOR_NAME: 'A',
    GIT_AUTHOR_EMAIL: 'a@example.org',
    GIT_COMMITTER_NAME: 'A',
    GIT_COMMITTER_EMAIL: 'a@example.org',
  }))
    vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const [origin, clone, notes] = [join(folder, 'origin'), join(folder, 'clone'), join(folder, 'notes.md')];
  git(folder, 'init', '--quiet', origin);
  git(origin, 'commit', '--quiet', '--allow-empty', '--message', 'first');
  git(folder, 'clone', '--quiet', origin, clone);
  writeFileSync(notes, NOTES);
  return { clone, notes };
};

test('a release is an annotated tag of the last commit, with its notes word for word', () => {
  const { clone, notes } = cloneOfRelease();
  const commit = git(clone, 'rev-parse', 'HEAD').trim();
  expect(commit.startsWith(tagRelease(TAG, notes, clone))).toBe(true);
  expect(git(clone, 'cat-file', '-t', TAG)).toBe('tag\n');
  expect(git(clone, 'rev-parse', `${TAG}^{commit}`).trim()).toBe(commit);
  expect(git(clone, 'cat-file', 'tag', TAG)).toMatch(new RegExp(`\\n\\n${NOTES}$`));
});

test('a tag that exists is refused in one line, before and after the tests of a release, and stays', () => {
  const { clone, notes } = cloneOfRelease();
  tagRelease(TAG, notes, clone);
  const before = git(clone, 'rev-parse', TAG);
  git(clone, 'commit', '--quiet', '--allow-empty', '--message', 'second');
  for (const refused of [() => checkTree(TAG, clone), () => tagRelease(TAG, notes, clone)])
    expect(refused).toThrow(/^the tag v9\.9\.9 exists: raise the version, or delete the tag$/);
  expect(git(clone, 'rev-parse', TAG)).toBe(before);
});

test('a tree with changes is no release', () => {
  const { clone } = cloneOfRelease();
  checkTree(TAG, clone);
  writeFileSync(join(clone, 'new.txt'), '');
  expect(() => checkTree(TAG, clone)).toThrow(/^1 files differ from the last commit: commit them first$/);
});

test('Git without a name for the tagger is refused in one line', () => {
  const { clone, notes } = cloneOfRelease();
  vi.stubEnv('GIT_COMMITTER_NAME', '');
  expect(() => tagRelease(TAG, notes, clone)).toThrow(/^git tag failed: fatal: .+$/);
  expect(git(clone, 'tag', '--list')).toBe('');
});
