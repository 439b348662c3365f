import { expect, test } from 'vitest';
import { previewText } from './preview-text.ts';

const preview = {
  commits: [{ sha: '828529a8233a4a23a9d33886197d3d75b1a7f6ac', subject: 'work\u001b[2J' }],
  diffstat: ' hello.txt | 1 +\n 1 file changed, 1 insertion(+)',
};

test('a merge is shown with its commits and files, as escaped text', () => {
  const lines = previewText({ args: { preview } });
  expect(lines).toHaveLength(4);
  expect(lines[1]).toMatch(/^ {2}828529a8233a work/);
  expect(lines.join('')).not.toContain('\u001b');
  expect(lines.slice(2)).toEqual(['  hello.txt | 1 +', '  1 file changed, 1 insertion(+)']);
});

test('a merge is shown with its patch, line by line', () => {
  const patch = 'diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+  b\n';
  expect(previewText({ args: { preview: { ...preview, patch } } }).slice(4)).toEqual([
    '  diff --git a/x b/x',
    '  @@ -1 +1 @@',
    '  -a',
    '  +  b',
  ]);
});

test('an unknown preview is shown as arguments only', () => {
  expect(previewText({ args: {} })).toEqual([]);
  expect(previewText({ args: { preview: 'soon' } })).toEqual([]);
  expect(previewText({ args: { preview: { tree: 'x' } } })).toEqual([]);
});
