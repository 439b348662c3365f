import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { QUICK } from '@holdpoint/infra/levels';
import { parseSync } from 'oxc-parser';
import { describe, expect, test } from 'vitest';
import { guaranteesIn } from '../repo/markdown.ts';
import { findPython } from '../kit/python.ts';
import { titlesIn } from '../repo/source-facts.ts';
import { readSource, ROOT } from '../repo/source-tree.ts';
import { isPython, planted, whyNotPlantable } from './bug.ts';
import { BUGS } from './bugs.ts';
import { resultsIn } from './run-pytest.ts';
import { patternOf } from './run-tests.ts';

const { python, reason } = await findPython();
if (python === undefined) console.warn(`the syntax of bugs in Python is not checked: ${reason}`);

const syntaxErrorsIn = (file: string, source: string): readonly unknown[] => {
  if (!isPython({ file })) return parseSync(file, source).errors;
  if (python === undefined) return [];
  const parse = ['-c', 'import ast, sys; ast.parse(sys.stdin.read())'];
  const { status, stderr } = spawnSync(python, parse, { input: source, encoding: 'utf8' });
  return status === 0 ? [] : [stderr];
};

/** Long tests, the other integration tests and the tests of the Python package run in `npm run test:all`. */
const runsInNpmTest = (file: string): boolean =>
  QUICK.includes(file) || !/\.(?:int|e2e|long)\.test\.ts$/.test(file);

const GUARANTEES = 'docs/reference/guarantees.md';
const HEADING = '## Bugs planted on purpose';

describe('every bug', () => {
  test.each(BUGS)('the bug can be planted and has a valid syntax: $name', (bug) => {
    const source = readSource(bug.file);
    expect(whyNotPlantable(source, bug)).toBeUndefined();
    expect(syntaxErrorsIn(bug.file, planted(source, bug))).toEqual([]);
  });

  test.each(BUGS)('the tests that catch the bug exist: $name', ({ caughtBy }) => {
    expect(caughtBy).not.toEqual([]);
    const missing = caughtBy.filter(
      ({ file, title }) => !existsSync(join(ROOT, file)) || !titlesIn(file, readSource(file)).includes(title),
    );
    expect(missing).toEqual([]);
  });

  test.each(BUGS)('a test of npm test, or of the Python package, catches the bug: $name', (bug) => {
    expect(bug.caughtBy.some(isPython(bug) ? isPython : ({ file }) => runsInNpmTest(file))).toBe(true);
  });

  test('bug names are unique', () => {
    const names = BUGS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  test('the register lists exactly these bugs with their tests', () => {
    const text = readFileSync(join(ROOT, GUARANTEES), 'utf8');
    const section = text.slice(text.indexOf(HEADING) + HEADING.length).split(/^## /m)[0] ?? '';
    const { guarantees, problems } = guaranteesIn(section);
    expect(problems).toEqual([]);
    expect(guarantees).toEqual(
      BUGS.flatMap(({ name, caughtBy }) => caughtBy.map((each) => ({ row: name, ...each }))),
    );
  });
});

describe('bugs that cannot be planted', () => {
  const bug = { name: 'x', file: 'a.ts', find: 'one', replace: 'two', caughtBy: [] };
  test.each([
    ['its text is gone', 'three', bug, 'x: a.ts has its text 0 times'],
    ['its text is there twice', 'one one', bug, 'x: a.ts has its text 2 times'],
    ['it changes nothing', 'one', { ...bug, replace: 'one' }, 'x: it changes nothing'],
  ])('%s', (_, source, wrong, why) => expect(whyNotPlantable(source, wrong)).toBe(why));

  test('the replacement is inserted literally', () => {
    expect(planted('a one b', { find: 'one', replace: '$& $1' })).toBe('a $& $1 b');
  });
});

test('the summary of pytest names each test with its file and its result', () => {
  const summary = [
    'FAILED tests/test_a.py::test_one[a b-1] - AssertionError: no - way',
    'PASSED tests/test_a.py::test_one[c]',
    'FAILED tests/test_b.py::test_two',
    '2 failed, 1 passed in 0.1s',
  ].join('\n');
  const [a, b] = ['packages/python/tests/test_a.py', 'packages/python/tests/test_b.py'];
  expect(resultsIn(summary)).toEqual([
    { file: a, title: 'test_one', status: 'failed', message: 'AssertionError: no - way' },
    { file: a, title: 'test_one', status: 'passed', message: '' },
    { file: b, title: 'test_two', status: 'failed', message: '' },
  ]);
});

test.each([
  ['is %s, in %i', 'is (a) it, in 7', true],
  ['is %s now', 'is it now, and more', false],
  ['of $name (%#)', 'of a.b (3)', true],
  ['with (x) and $y.z', 'with (x) and 1', true],
  ['with (x)', 'with x', false],
])('the title %s is that of "%s": %s', (title, ran, same) => {
  expect(new RegExp(patternOf(title)).test(ran)).toBe(same);
});
