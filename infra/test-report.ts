import { z } from 'zod';

export type Total = { readonly passed: number; readonly failed: number };

export const add = (a: Total, b: Total): Total => ({
  passed: a.passed + b.passed,
  failed: a.failed + b.failed,
});

export const totalLine = ({ passed, failed }: Total): string => `${passed} passed, ${failed} failed`;

/** The part of vitest's JSON report that is counted. */
const Report = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  testResults: z.array(
    z.object({ status: z.string(), assertionResults: z.array(z.object({ status: z.string() })) }),
  ),
});

/**
 * Counts a run. A file that could not even be loaded, and an error outside of any test, have no failed test to be
 * counted by; each counts as one failure, so that a broken run never looks like a good one.
 */
export const countReport = (json: unknown, exitCode: number | null): Total => {
  const { numPassedTests, numFailedTests, testResults } = Report.parse(json);
  const broken = testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((each) => each.status === 'failed'),
  ).length;
  const failed = numFailedTests + broken;
  return { passed: numPassedTests, failed: failed === 0 && exitCode !== 0 ? 1 : failed };
};
