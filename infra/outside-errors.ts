import { writeFileSync } from 'node:fs';
import type { Reporter } from 'vitest/node';

/** The variable with the file for the number of errors outside of tests. The JSON report of vitest leaves them out. */
export const OUTSIDE_ERRORS = 'HOLDPOINT_TEST_OUTSIDE_ERRORS';

// oxlint-disable-next-line import/no-default-export -- the test runner asks for it
export default class OutsideErrors implements Reporter {
  onTestRunEnd(_modules: unknown, errors: readonly unknown[]): void {
    const file = process.env[OUTSIDE_ERRORS];
    if (file !== undefined) writeFileSync(file, String(errors.length));
  }
}
