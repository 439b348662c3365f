import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { CleanFailure } from '../../ports/capability.ts';
import { branchRef, isBranchName } from './ref-name.ts';

const NAMES = [
  'main',
  'draft/a',
  'feature/ü',
  'a.b',
  'a-b',
  'a@b',
  '@',
  'a/@',
  '{a}',
  'a}',
  "it's",
  '$(touch x)',
  '`x`',
  'a;b',
  'a&b',
  '-a',
  '--upload-pack=x',
  '-',
  'a/-b',
  '/a',
  'a/',
  'a//b',
  '.a',
  'a/.b',
  'a..b',
  'a.',
  'a/b.',
  'a.lock',
  'a.lock/b',
  'a b',
  'a\tb',
  'a\nb',
  'a\u0000b',
  'a\u007Fb',
  'a~b',
  'a^b',
  'a:b',
  'a?b',
  'a*b',
  'a[b',
  'a]b',
  'a\\b',
  'a@{b',
  'a@{-1}',
  '',
  'HEAD',
  'refs/heads/a',
  'x'.repeat(240),
  'x'.repeat(241),
  '..',
  '.',
  'a/../b',
  'a/./b',
  '!a',
  '#a',
  '%2e',
  '"a"',
  '\uD800',
];

const gitTakes = (name: string): boolean =>
  !name.includes('\0') && spawnSync('git', ['check-ref-format', `refs/heads/${name}`]).status === 0;

test.each(NAMES)('%j is a branch name exactly when git accepts it', (name) => {
  // Stricter than git only about what looks like something else, or is too long for a file name.
  const refused = /^(-.*|HEAD|@|refs\/.*|x{241}|\uD800)$/.test(name);
  expect(isBranchName(name)).toBe(gitTakes(name) && !refused);
});

test('a branch always gets its full ref name', () => {
  expect(branchRef('draft/a')).toBe('refs/heads/draft/a');
  expect(() => branchRef('--force')).toThrow(CleanFailure);
  expect(() => branchRef('a\nb')).toThrow('"a\\nb" is not a valid branch name');
});
