import { expect, test } from 'vitest';
import { diffLines, filesOfPatch, isDiff } from './patch.ts';

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

const PATCH = `diff --git a/src/a.ts b/src/a.ts
index 1..2 100644
--- a/src/a.ts
+++ b/src/a.ts
@@ -1,2 +1,2 @@
---- diff --git a/x b/x
+++ new
 same
diff --git a/with space.txt b/with space.txt
new file mode 100644
--- /dev/null
+++ b/with space.txt	
@@ -0,0 +1,2 @@
+one
+two
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-all of it
diff --git a/logo.png b/logo.png
index 1..2 100644
Binary files a/logo.png and b/logo.png differ
diff --git a/old.txt b/new.txt
similarity index 100%
rename from old.txt
rename to new.txt
`;

test('a patch has files with their names and numbers of added and removed lines', () => {
  const { files, note } = filesOfPatch(PATCH);
  expect(files.map(({ name, added, removed }) => [name, added, removed])).toEqual([
    ['src/a.ts', 1, 1],
    ['with space.txt', 2, 0],
    ['gone.txt', 0, 1],
    ['logo.png', 0, 0],
    ['old.txt → new.txt', 0, 0],
  ]);
  expect(note).toBeUndefined();
  expect(files.flatMap(({ lines }) => lines.map(({ text }) => text)).join('\n')).toBe(PATCH.trimEnd());
});

test('the note of a shortened patch belongs to none of its files', () => {
  const note = '[shortened, all of it: git diff 1 2]';
  const { files, ...rest } = filesOfPatch(`diff --git a/x b/x\n@@ -1,9 +1,9 @@\n-a\n${note}\n`);
  expect(rest).toEqual({ note });
  expect(files.map(({ name, lines }) => [name, lines.length])).toEqual([['x', 3]]);
});

test('a diff without names of files has none', () => {
  expect(filesOfPatch('--- before\n+++ now\n@@ -1 +1 @@\n-a\n+b\n')).toEqual({ files: [] });
  expect(filesOfPatch('[too long to show: git diff 1 2]\n')).toEqual({ files: [] });
});
