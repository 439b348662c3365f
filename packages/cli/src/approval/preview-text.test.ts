import { expect, test } from 'vitest';
import { previewText } from './preview-text.ts';

const uses = 'cap.env.builtin.git.integrate_plan_branch';
const preview = {
  commits: [{ sha: '828529a8233a4a23a9d33886197d3d75b1a7f6ac', subject: 'work\u001b[2J' }],
  diffstat: ' hello.txt | 1 +\n 1 file changed, 1 insertion(+)',
};

test('a merge is shown with its commits and files, as escaped text', () => {
  const lines = previewText({ uses, args: { preview } });
  expect(lines).toHaveLength(4);
  expect(lines[1]).toMatch(/^ {2}828529a8233a work/);
  expect(lines.join('')).not.toContain('\u001b');
  expect(lines.slice(2)).toEqual(['  hello.txt | 1 +', '  1 file changed, 1 insertion(+)']);
});

test('a merge is shown with its patch, file by file and line by line', () => {
  const note = '[shortened, all of it: git diff 1 2]';
  const first = 'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+  b\n';
  const second =
    'diff --git a/y b/y\nnew file mode 100755\n--- /dev/null\n+++ b/y\n@@ -0,0 +1,2 @@\n+c\u001b\n';
  const patch = `${first}${second}${note}\n`;
  expect(previewText({ uses, args: { preview: { ...preview, patch } } }).slice(4)).toEqual([
    '  x (+1 -1)',
    '    @@ -1 +1 @@',
    '    -a',
    '    +  b',
    '  y (+1 -0)',
    '    new file mode 100755',
    '    @@ -0,0 +1,2 @@',
    '    +c\\u{1b}',
    `  ${note}`,
  ]);
});

test('a diff without names of files is shown line by line', () => {
  const patch = '@@ -1 +1 @@\n-a\n+b\n';
  expect(previewText({ uses, args: { preview: { ...preview, patch } } }).slice(4)).toEqual([
    '  @@ -1 +1 @@',
    '  -a',
    '  +b',
  ]);
});

test('an unknown preview is shown as arguments only', () => {
  expect(previewText({ uses, args: {} })).toEqual([]);
  expect(previewText({ uses, args: { preview: 'soon' } })).toEqual([]);
  expect(previewText({ uses, args: { preview: { tree: 'x' } } })).toEqual([]);
});

test('an undo shows the commit that it reverts, and its changes', () => {
  const merged = { ...preview, commit: '74dc213bc9ddf94d8468202a56bf25475143499d', message: 'feat: greet' };
  const args = { effect: 'e-1', args: { preview: merged }, outputs: {} };
  expect(previewText({ uses: `${uses}.compensate`, args }).slice(0, 3)).toEqual([
    'reverts',
    '  74dc213bc9dd feat: greet',
    'changes',
  ]);
});
