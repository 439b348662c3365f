import { expect, test } from 'vitest';
import { diffLines, isDiff } from './diff-lines.ts';

const kinds = (diff: string) => diffLines(diff).map(({ kind }) => kind);

test('a diff has files, hunks, additions and removals', () => {
  const diff = '--- before\n+++ now\n@@ -1,2 +1,2 @@\n-hi\n+hello\n same\n';
  expect(kinds(diff)).toEqual(['file', 'file', 'hunk', 'removed', 'added', 'same']);
  expect(isDiff(diff)).toBe(true);
});

test('a removed line that looks like a file name is a removed line', () => {
  expect(kinds('@@ -1 +1 @@\n--- a comment in SQL\n+++ b\n--- next\n+++ next')).toEqual([
    'hunk',
    'removed',
    'added',
    'file',
    'file',
  ]);
});

test('other texts are not diffs', () => {
  expect(isDiff('- a list\n- of things')).toBe(false);
});
