import { expect, test } from 'vitest';
import { nearestName, problemText, type Problem } from './problem.ts';

const problem: Problem = {
  code: 'WORKFLOW_KEY_UNKNOWN',
  severity: 'error',
  path: 'nodes[a].affter',
  found: 'the key "affter"',
  expected: 'one of: id, after',
};

test('a problem is one line with place, found and expected value', () => {
  const text = problemText({ ...problem, nearest: 'after', file: 'flow.toml', line: 3, column: 7 });
  expect(text).toBe(
    'flow.toml:3:7 nodes[a].affter: error WORKFLOW_KEY_UNKNOWN: found the key "affter"; expected one of: id, after (did you mean "after"?)',
  );
});

test('a problem without a place and with line breaks is one line', () => {
  expect(problemText({ ...problem, path: '', found: 'a\nb', severity: 'warning' })).toBe(
    'warning WORKFLOW_KEY_UNKNOWN: found a b; expected one of: id, after',
  );
});

test.each([
  ['affter', ['before', 'after'], 'after'],
  ['fro', ['from', 'to'], 'from'],
  ['form', ['from', 'to'], 'from'],
  ['BRANCH', ['branch'], 'branch'],
  ['slug', ['branch', 'target'], undefined],
  ['', ['a'], undefined],
  ['a'.repeat(65), ['a'.repeat(64)], undefined],
])('the nearest name to %j among %j is %j', (word, known, nearest) => {
  expect(nearestName(word, known)).toBe(nearest);
});
