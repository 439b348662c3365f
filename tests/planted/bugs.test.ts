import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { QUICK } from '@holdpoint/infra/levels';
import { parseSync } from 'oxc-parser';
import { describe, expect, test } from 'vitest';
import { guaranteesIn } from '../repo/markdown.ts';
import { factsOf } from '../repo/source-facts.ts';
import { readSource, ROOT } from '../repo/source-tree.ts';
import { planted, whyNotPlantable } from './bug.ts';
import { BUGS } from './bugs.ts';
import { patternOf } from './run-tests.ts';

/** Long tests and the other integration tests run in `npm run test:all`. */
const runsInNpmTest = (file: string): boolean =>
  QUICK.includes(file) || !/\.(?:int|e2e|long)\.test\.ts$/.test(file);

const GUARANTEES = 'docs/reference/guarantees.md';
const HEADING = '## Bugs planted on purpose';

describe('every bug', () => {
  test.each(BUGS)('the bug can be planted and is valid TypeScript: $name', (bug) => {
    const source = readSource(bug.file);
    expect(whyNotPlantable(source, bug)).toBeUndefined();
    expect(parseSync(bug.file, planted(source, bug)).errors).toEqual([]);
  });

  test.each(BUGS)('the tests that catch the bug exist: $name', ({ caughtBy }) => {
    expect(caughtBy).not.toEqual([]);
    const missing = caughtBy.filter(
      ({ file, title }) =>
        !existsSync(join(ROOT, file)) || !factsOf(file, readSource(file)).tests.includes(title),
    );
    expect(missing).toEqual([]);
  });

  test.each(BUGS)('a test of npm test catches the bug: $name', ({ caughtBy }) => {
    expect(caughtBy.some(({ file }) => runsInNpmTest(file))).toBe(true);
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

test.each([
  ['is %s, in %i', 'is (a) it, in 7', true],
  ['is %s now', 'is it now, and more', false],
  ['of $name (%#)', 'of a.b (3)', true],
  ['with (x) and $y.z', 'with (x) and 1', true],
  ['with (x)', 'with x', false],
])('the title %s is that of "%s": %s', (title, ran, same) => {
  expect(new RegExp(patternOf(title)).test(ran)).toBe(same);
});
