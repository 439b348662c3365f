import { FailureClass, type FailureClass as Class } from '@holdpoint/contracts/workflow/failure-class';
import { describe, expect, test } from 'vitest';
import { delayMsOf, rowFor, TABLE, TABLE_VERSION } from './verdict-table.ts';

describe('the deciding row', () => {
  type Case = readonly [
    failureClass: Class,
    failures: number,
    hasGoodCommit: boolean,
    row: string,
    verdict: string,
    delayMs: number,
  ];
  const rows: readonly Case[] = [
    ['CIRCULAR_FIX', 1, true, 'circle', 'skip', 0],
    ['CIRCULAR_FIX', 1, false, 'circle', 'skip', 0],
    ['BROKEN_BUILD', 1, true, 'build', 'rollback', 0],
    ['BROKEN_BUILD', 2, true, 'build-for-good', 'escalate', 0],
    ['BROKEN_BUILD', 1, false, 'build-for-good', 'escalate', 0],
    ['VERIFICATION_FAILED', 1, true, 'verification', 'retry', 0],
    ['VERIFICATION_FAILED', 2, false, 'verification', 'retry', 0],
    ['VERIFICATION_FAILED', 3, true, 'verification-again', 'skip', 0],
    ['VERIFICATION_FAILED', 30, true, 'verification-again', 'skip', 0],
    ['CONTEXT_EXHAUSTED', 1, false, 'context', 'continue', 0],
    ['CONTEXT_EXHAUSTED', 5, true, 'context', 'continue', 0],
    ['CONTEXT_EXHAUSTED', 6, true, 'context-again', 'escalate', 0],
    ['TRANSIENT', 1, false, 'transient', 'retry', 1_000],
    ['TRANSIENT', 2, true, 'transient', 'retry', 2_000],
    ['TRANSIENT', 4, true, 'transient', 'retry', 8_000],
    ['TRANSIENT', 5, true, 'transient-lasting', 'escalate', 0],
    ['UNKNOWN', 1, false, 'unknown', 'retry', 1_000],
    ['UNKNOWN', 2, true, 'unknown-again', 'escalate', 0],
    ['WORKER_CRASH', 1, false, 'crash', 'retry', 1_000],
    ['WORKER_CRASH', 2, true, 'crash', 'retry', 2_000],
    ['WORKER_CRASH', 3, true, 'crash-loop', 'escalate', 0],
    ['EFFECT_IN_DOUBT', 1, true, 'in-doubt', 'escalate', 0],
    ['EFFECT_IN_DOUBT', 9, false, 'in-doubt', 'escalate', 0],
    ['MISCONFIGURED', 1, true, 'misconfigured', 'escalate', 0],
    ['MISCONFIGURED', 9, false, 'misconfigured', 'escalate', 0],
  ];
  /** Of jobs that block the critical path of their task. */
  const critical: readonly Case[] = [
    ['CIRCULAR_FIX', 1, true, 'circle-critical', 'escalate', 0],
    ['VERIFICATION_FAILED', 2, true, 'verification', 'retry', 0],
    ['VERIFICATION_FAILED', 3, false, 'verification-critical', 'escalate', 0],
    ['BROKEN_BUILD', 1, true, 'build', 'rollback', 0],
    ['UNKNOWN', 1, true, 'unknown', 'retry', 1_000],
  ];

  test.each(rows)(
    'for %s after %i failures, good commit %s, the row is %s: %s',
    (failureClass, failures, hasGoodCommit, name, verdict, delayMs) => {
      const row = rowFor({ class: failureClass, failures, hasGoodCommit });
      expect({ name: row.name, verdict: row.verdict, delayMs: delayMsOf(row, failures) }).toEqual({
        name,
        verdict,
        delayMs,
      });
    },
  );

  test.each(critical)(
    'on the critical path, for %s after %i failures, good commit %s, the row is %s: %s',
    (failureClass, failures, hasGoodCommit, name, verdict, delayMs) => {
      const row = rowFor({ class: failureClass, failures, hasGoodCommit, isCritical: true });
      expect({ name: row.name, verdict: row.verdict, delayMs: delayMsOf(row, failures) }).toEqual({
        name,
        verdict,
        delayMs,
      });
    },
  );

  test('the cases above cover every row of the table', () => {
    expect(new Set([...rows, ...critical].map(([, , , name]) => name))).toEqual(
      new Set(TABLE.map(({ name }) => name)),
    );
  });

  test.each([
    ['VERIFICATION_FAILED', { thresholds: { VERIFICATION_FAILED: 5 } }, 4, 'verification'],
    ['VERIFICATION_FAILED', { thresholds: { VERIFICATION_FAILED: 1 } }, 1, 'verification-again'],
    ['BROKEN_BUILD', { thresholds: { BROKEN_BUILD: 2 } }, 2, 'build'],
    ['BROKEN_BUILD', { thresholds: { BROKEN_BUILD: 2 } }, 3, 'build-for-good'],
    ['CONTEXT_EXHAUSTED', { continues: 0 }, 1, 'context-again'],
    ['CONTEXT_EXHAUSTED', { continues: 9, thresholds: { CONTEXT_EXHAUSTED: 1 } }, 9, 'context'],
    ['TRANSIENT', { thresholds: { UNKNOWN: 9 } }, 5, 'transient-lasting'],
  ] as const)(
    'for %s the repository may set thresholds: with %j failure %i leads to %s',
    (of, rules, failures, name) => {
      expect(rowFor({ class: of, failures, hasGoodCommit: true, rules }).name).toBe(name);
    },
  );

  test('the repository sets the backoff of rows that wait', () => {
    const rules = { backoff: { firstMs: 10, mostMs: 25 } };
    const transient = rowFor({ class: 'TRANSIENT', failures: 1, hasGoodCommit: false });
    expect([1, 2, 3].map((failures) => delayMsOf(transient, failures, rules))).toEqual([10, 20, 25]);
    const check = rowFor({ class: 'VERIFICATION_FAILED', failures: 1, hasGoodCommit: false });
    expect(delayMsOf(check, 1, rules)).toBe(0);
  });
});

describe('the verdict table', () => {
  test('the table has a version and unique row names', () => {
    expect(TABLE_VERSION).toBeGreaterThanOrEqual(1);
    expect(new Set(TABLE.map(({ name }) => name)).size).toBe(TABLE.length);
  });

  test('every retry has a threshold, and every row a reason', () => {
    const goesOn = TABLE.filter(({ verdict }) => verdict !== 'skip' && verdict !== 'escalate');
    for (const { name, untilThreshold: up } of goesOn) expect(up, name).toBeDefined();
    for (const row of TABLE) expect(row.reason, row.name).not.toBe('');
  });

  test.each(FailureClass.options)('the last row for %s has no condition', (option) => {
    const last = TABLE.findLast((row) => row.class === option);
    expect([last?.untilThreshold, last?.goodCommit, last?.critical]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('every row can be reached', () => {
    for (const row of TABLE) {
      const reachable = Array.from({ length: 100 }, (_, i) =>
        [true, false].flatMap((hasGoodCommit) =>
          [true, false].map((isCritical) =>
            rowFor({ class: row.class, failures: i + 1, hasGoodCommit, isCritical }),
          ),
        ),
      );
      expect(reachable.flat(), row.name).toContain(row);
    }
  });

  test('delays double up to the limit of the row', () => {
    const row = TABLE.find(({ name }) => name === 'transient');
    if (row === undefined) throw new Error('there is no such row');
    const delays = Array.from({ length: 40 }, (_, i) => delayMsOf(row, i + 1));
    expect(delays).toEqual(delays.toSorted((a, b) => a - b));
    expect(delays.at(-1)).toBe(60_000);
  });
});
