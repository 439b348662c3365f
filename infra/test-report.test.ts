import { describe, expect, test } from 'vitest';
import {
  add,
  countReport,
  filesToRepeat,
  REPEATED_FILES_MAX,
  totalLine,
  unstableIn,
  withoutUnstable,
} from './test-report.ts';

type Ended = readonly [status: string, title: string];

const file = (name: string, status: string, ...tests: readonly Ended[]) => ({
  name,
  status,
  message: status === 'failed' && tests.length === 0 ? 'Cannot find module' : '',
  assertionResults: tests.map(([state, fullName]) => ({
    status: state,
    fullName,
    failureMessages: state === 'failed' ? [`Error: ${fullName}\n    at a line`] : [],
  })),
});

const reportOf = (...files: readonly ReturnType<typeof file>[]) => {
  const ended = files.flatMap(({ assertionResults }) => assertionResults.map(({ status }) => status));
  return {
    numPassedTests: ended.filter((status) => status === 'passed').length,
    numFailedTests: ended.filter((status) => status === 'failed').length,
    testResults: files,
  };
};

const passing = file('a.int.test.ts', 'passed', ['passed', 'one']);
const failing = file('b.int.test.ts', 'failed', ['passed', 'two'], ['failed', 'three'], ['failed', 'four']);
const unloaded = file('c.int.test.ts', 'failed');
const always = () => true;

describe('the total', () => {
  test('is what passed and what failed', () => {
    expect(countReport(reportOf(passing, failing), 1).total).toEqual({ passed: 2, failed: 2 });
  });

  test('counts a file that could not be loaded as a failure', () => {
    expect(countReport(reportOf(passing, unloaded), 1).total).toEqual({ passed: 1, failed: 1 });
  });

  test.each([1, null])('of a run that ended with %s is never all good', (code) => {
    expect(countReport(reportOf(passing), code).total).toEqual({ passed: 1, failed: 1 });
  });

  test('of a run that ended well is all good', () => {
    expect(countReport(reportOf(passing), 0).total).toEqual({ passed: 1, failed: 0 });
  });

  test('is one plain line', () => {
    expect(totalLine(add({ passed: 3, failed: 0 }, { passed: 40, failed: 2 }))).toBe('43 passed, 2 failed');
  });
});

describe('a second run', () => {
  const first = countReport(reportOf(passing, failing, unloaded), 1);
  const again = (...tests: readonly Ended[]) =>
    countReport(
      reportOf(
        file('b.int.test.ts', tests.some(([state]) => state === 'failed') ? 'failed' : 'passed', ...tests),
      ),
      tests.some(([state]) => state === 'failed') ? 1 : 0,
    );

  test('has the failed files, each once', () => {
    expect(filesToRepeat(first, always)).toEqual(['b.int.test.ts', 'c.int.test.ts']);
  });

  test('has no file of a good run', () => {
    expect(filesToRepeat(countReport(reportOf(passing), 0), always)).toEqual([]);
  });

  test('does not follow if a file may not run again', () => {
    expect(filesToRepeat(first, (name) => name !== 'c.int.test.ts')).toEqual([]);
  });

  test('does not follow an error outside of tests, alone or beside a failed test', () => {
    expect(filesToRepeat(countReport(reportOf(passing), 1, 1), always)).toEqual([]);
    expect(filesToRepeat(countReport(reportOf(failing), 1, 1), always)).toEqual([]);
    expect(filesToRepeat(countReport(reportOf(failing), 1, Number.NaN), always)).toEqual([]);
  });

  test('does not follow many failed files', () => {
    const broken = Array.from({ length: REPEATED_FILES_MAX + 1 }, (_, index) =>
      file(`${String(index)}.int.test.ts`, 'failed', ['failed', 'each']),
    );
    expect(filesToRepeat(countReport(reportOf(...broken.slice(1)), 1), always)).toHaveLength(
      REPEATED_FILES_MAX,
    );
    expect(filesToRepeat(countReport(reportOf(...broken), 1), always)).toEqual([]);
  });

  test('makes failures unstable that it does not repeat, with their first error', () => {
    const unstable = unstableIn(
      first,
      'b.int.test.ts',
      again(['passed', 'two'], ['passed', 'three'], ['passed', 'four']),
    );
    expect(unstable).toEqual([
      { file: 'b.int.test.ts', title: 'three', error: 'Error: three' },
      { file: 'b.int.test.ts', title: 'four', error: 'Error: four' },
    ]);
    expect(withoutUnstable(first.total, unstable)).toEqual({ passed: 4, failed: 1 });
  });

  test.each<[string, readonly Ended[]]>([
    [
      'repeats one of them',
      [
        ['passed', 'two'],
        ['passed', 'three'],
        ['failed', 'four'],
      ],
    ],
    [
      'fails in another test',
      [
        ['failed', 'two'],
        ['passed', 'three'],
        ['passed', 'four'],
      ],
    ],
    [
      'skips one of them',
      [
        ['passed', 'two'],
        ['passed', 'three'],
        ['skipped', 'four'],
      ],
    ],
    ['runs no test', []],
  ])('excuses nothing if it %s', (_what, tests) => {
    expect(unstableIn(first, 'b.int.test.ts', again(...tests))).toEqual([]);
    expect(withoutUnstable(first.total, [])).toEqual(first.total);
  });

  test.each([
    [1, 0],
    [null, 0],
    [1, 1],
  ])('excuses nothing if it ends with %s and %i errors outside of tests', (code, outside) => {
    const good = reportOf(
      file('b.int.test.ts', 'passed', ['passed', 'two'], ['passed', 'three'], ['passed', 'four']),
    );
    expect(unstableIn(first, 'b.int.test.ts', countReport(good, code, outside))).toEqual([]);
  });

  test('excuses a file that did not load only if it loads and passes', () => {
    const loads = countReport(reportOf(file('c.int.test.ts', 'passed', ['passed', 'five'])), 0);
    expect(unstableIn(first, 'c.int.test.ts', loads)).toMatchObject([{ error: 'Cannot find module' }]);
    expect(unstableIn(first, 'c.int.test.ts', countReport(reportOf(unloaded), 1))).toEqual([]);
    expect(unstableIn(first, 'c.int.test.ts', countReport(reportOf(passing), 0))).toEqual([]);
  });
});
