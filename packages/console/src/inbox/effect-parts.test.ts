import { expect, test } from 'vitest';
import { partsOf } from './effect-parts.ts';

test('a command is shown as typed in a shell', () => {
  expect(partsOf({ args: { with: { argv: ['rm', '-rf', 'a b', '$(x)'] } } })).toEqual([
    { kind: 'command', name: 'argv', text: 'rm -rf "a b" "$(x)"' },
  ]);
  expect(partsOf({ args: { script: 'npm test' } })).toEqual([
    { kind: 'command', name: 'Command', text: 'npm test' },
  ]);
});

test('a preview shows commits and changes', () => {
  const commits = [{ sha: 'abc', subject: 'Greet' }];
  const diff = '@@ -1 +1 @@\n-a\n+b';
  expect(partsOf({ args: { preview: { commits, diffstat: ' a | 1 +', patch: diff } } })).toEqual([
    { kind: 'commits', name: 'Commits', commits },
    { kind: 'text', name: 'Changed files', text: ' a | 1 +' },
    { kind: 'diff', name: 'Changes', text: diff },
  ]);
});

test('short values stay with the arguments', () => {
  expect(partsOf({ args: { path: 'greetings.txt', count: 3, commits: ['9f2c'], empty: '' } })).toEqual([]);
});
