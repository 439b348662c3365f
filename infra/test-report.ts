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
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().default(''),
      assertionResults: z.array(
        z.object({
          status: z.string(),
          fullName: z.string(),
          failureMessages: z.array(z.string()).nullish(),
        }),
      ),
    }),
  ),
});

/** A failed test, or a file that could not be loaded. */
export type Failure = {
  readonly file: string;
  readonly title: string;
  /** First line of the error. */
  readonly error: string;
};

export type Counted = {
  readonly total: Total;
  readonly failures: readonly Failure[];
  /** Titles of the passed tests, by file. */
  readonly passed: ReadonlyMap<string, ReadonlySet<string>>;
  /** False if something failed that belongs to no file, such as an error outside of tests. */
  readonly isWhole: boolean;
};

const firstLine = (text: string | undefined): string => text?.trim().split('\n')[0] ?? '';
/** Stands for the tests of a file that could not be loaded. */
const WHOLE_FILE = 'the whole file';

/**
 * Counts a run. A file that could not even be loaded, and an error outside of any test, have no failed test to be
 * counted by; each counts as one failure, so that a broken run never looks like a good one. `outside` is the number of
 * errors outside of tests, which the report leaves out.
 */
export const countReport = (json: unknown, exitCode: number | null, outside = 0): Counted => {
  const { numPassedTests, numFailedTests, testResults } = Report.parse(json);
  const passed = new Map<string, ReadonlySet<string>>();
  const failures = testResults.flatMap(({ name, status, message, assertionResults }): readonly Failure[] => {
    const ended = (state: string) => assertionResults.filter((each) => each.status === state);
    passed.set(name, new Set(ended('passed').map(({ fullName }) => fullName)));
    const failed = ended('failed').map(({ fullName, failureMessages }) => ({
      file: name,
      title: fullName,
      error: firstLine(failureMessages?.[0]),
    }));
    const isBroken = status === 'failed' && failed.length === 0;
    return isBroken ? [{ file: name, title: WHOLE_FILE, error: firstLine(message) }] : failed;
  });
  const broken = failures.filter(({ title }) => title === WHOLE_FILE).length;
  const failed = numFailedTests + broken;
  return {
    total: { passed: numPassedTests, failed: failed === 0 && exitCode !== 0 ? 1 : failed },
    failures,
    passed,
    isWhole: outside === 0 && failed === failures.length && (failed > 0 || exitCode === 0),
  };
};

/** More failed files are a real break. */
export const REPEATED_FILES_MAX = 5;

/** The failed files, if they are few and all may run again; otherwise none. */
export const filesToRepeat = (
  { failures, isWhole }: Counted,
  mayRepeat: (file: string) => boolean,
): readonly string[] => {
  const files = [...new Set(failures.map(({ file }) => file))];
  return isWhole && files.length <= REPEATED_FILES_MAX && files.every(mayRepeat) ? files : [];
};

/**
 * The failures of a file that its second run, alone, does not repeat. All tests of that run must pass, and each failed test must
 * be among them: a skipped test proves nothing.
 */
export const unstableIn = (first: Counted, file: string, second: Counted): readonly Failure[] => {
  const failures = first.failures.filter((each) => each.file === file);
  const passed = second.passed.get(file);
  if (!second.isWhole || second.total.failed > 0 || passed === undefined || passed.size === 0) return [];
  return failures.every(({ title }) => title === WHOLE_FILE || passed.has(title)) ? failures : [];
};

/** The total once unstable tests count as passed. */
export const withoutUnstable = ({ passed, failed }: Total, unstable: readonly Failure[]): Total => ({
  passed: passed + unstable.length,
  failed: failed - unstable.length,
});
