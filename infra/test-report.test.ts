import { describe, expect, test } from 'vitest';
import { add, countReport, totalLine } from './test-report.ts';

const file = (status: string, ...tests: readonly string[]) => ({
  status,
  assertionResults: tests.map((each) => ({ status: each })),
});

describe('the total', () => {
  test('is what passed and what failed', () => {
    const report = {
      numPassedTests: 3,
      numFailedTests: 1,
      testResults: [file('passed', 'passed'), file('failed', 'failed')],
    };
    expect(countReport(report, 1)).toEqual({ passed: 3, failed: 1 });
  });

  test('counts a file that could not be loaded as a failure', () => {
    const report = {
      numPassedTests: 3,
      numFailedTests: 0,
      testResults: [file('passed', 'passed'), file('failed')],
    };
    expect(countReport(report, 1)).toEqual({ passed: 3, failed: 1 });
  });

  test('of a run that ended badly is never all good', () => {
    const report = { numPassedTests: 3, numFailedTests: 0, testResults: [file('passed', 'passed')] };
    expect(countReport(report, 1)).toEqual({ passed: 3, failed: 1 });
    expect(countReport(report, null)).toEqual({ passed: 3, failed: 1 });
    expect(countReport(report, 0)).toEqual({ passed: 3, failed: 0 });
  });

  test('is one plain line', () => {
    expect(totalLine(add({ passed: 3, failed: 0 }, { passed: 40, failed: 2 }))).toBe('43 passed, 2 failed');
  });
});
