import { FailureClass, type FailureClass as Class } from '@holdpoint/contracts/recovery';
import { describe, expect, test } from 'vitest';
import { classify, delayMsOf, rowFor, TABLE, TABLE_VERSION } from './verdict-table.ts';

describe('the class of a failure', () => {
  test.each([
    ['in_doubt', 'EXECUTOR_OUTCOME_UNKNOWN', 'EFFECT_IN_DOUBT'],
    // Whatever the error says: that nobody can know weighs more.
    ['in_doubt', 'EXECUTOR_TARGET_UNAVAILABLE', 'EFFECT_IN_DOUBT'],
    ['failed', 'EXECUTOR_TARGET_UNAVAILABLE', 'TRANSIENT'],
    ['failed', 'RUNTIME_UNAVAILABLE', 'TRANSIENT'],
    ['failed', 'EXECUTOR_NOT_APPLIED', 'TRANSIENT'],
    ['failed', 'EXECUTOR_JOURNAL_UNAVAILABLE', 'TRANSIENT'],
    ['failed', 'EXECUTOR_INVALID_ARGUMENTS', 'UNKNOWN'],
    ['failed', 'A_CODE_OF_A_NEWER_VERSION', 'UNKNOWN'],
  ] as const)('that %s with %s is %s', (outcome, code, expected) => {
    expect(classify({ outcome, error: { code, message: 'no' } })).toBe(expected);
  });
});

describe('the row that decides', () => {
  const rows: readonly (readonly [
    failureClass: Class,
    failures: number,
    row: string,
    verdict: string,
    delayMs: number,
  ])[] = [
    ['EFFECT_IN_DOUBT', 1, 'in-doubt', 'escalate', 0],
    ['EFFECT_IN_DOUBT', 9, 'in-doubt', 'escalate', 0],
    ['TRANSIENT', 1, 'transient', 'retry', 1_000],
    ['TRANSIENT', 2, 'transient', 'retry', 2_000],
    ['TRANSIENT', 3, 'transient', 'retry', 4_000],
    ['TRANSIENT', 4, 'transient', 'retry', 8_000],
    ['TRANSIENT', 5, 'transient-lasting', 'escalate', 0],
    ['TRANSIENT', 50, 'transient-lasting', 'escalate', 0],
    ['UNKNOWN', 1, 'unknown', 'retry', 1_000],
    ['UNKNOWN', 2, 'unknown-again', 'escalate', 0],
    ['UNKNOWN', 3, 'unknown-again', 'escalate', 0],
  ];

  test.each(rows)('on %s after %i failures is %s: %s', (failureClass, failures, name, verdict, delayMs) => {
    const row = rowFor(failureClass, failures);
    expect({ name: row.name, verdict: row.verdict, delayMs: delayMsOf(row, failures) }).toEqual({
      name,
      verdict,
      delayMs,
    });
  });

  test('is tried here for every row of the table', () => {
    expect(new Set(rows.map(([, , name]) => name))).toEqual(new Set(TABLE.map(({ name }) => name)));
  });

  test.each(FailureClass.options.filter((option) => !TABLE.some((row) => row.class === option)))(
    'on %s, which has none, is to ask a person',
    (failureClass) => {
      expect(rowFor(failureClass, 1)).toMatchObject({
        name: 'no-row',
        class: failureClass,
        verdict: 'escalate',
      });
    },
  );
});

describe('the table', () => {
  test('has a version and rows that can be told apart', () => {
    expect(TABLE_VERSION).toBeGreaterThanOrEqual(1);
    expect(new Set(TABLE.map(({ name }) => name)).size).toBe(TABLE.length);
  });

  test('retries nothing for ever, and gives every reason in words', () => {
    for (const row of TABLE.filter(({ verdict }) => verdict === 'retry'))
      expect(row.below, row.name).toBeLessThan(Infinity);
    for (const row of TABLE) expect(row.reason, row.name).not.toBe('');
  });

  test('has no row that an earlier one hides', () => {
    for (const row of TABLE) {
      const reachable = Array.from({ length: 100 }, (_, i) => rowFor(row.class, i + 1));
      expect(reachable, row.name).toContain(row);
    }
  });

  test('waits longer each time, up to the most that a row allows', () => {
    const row = TABLE.find(({ name }) => name === 'transient');
    if (row === undefined) throw new Error('there is no such row');
    const delays = Array.from({ length: 40 }, (_, i) => delayMsOf(row, i + 1));
    expect(delays).toEqual(delays.toSorted((a, b) => a - b));
    expect(delays.at(-1)).toBe(60_000);
  });
});
