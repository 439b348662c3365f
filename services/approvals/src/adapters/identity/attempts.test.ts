import { describe, expect, test } from 'vitest';
import { recordedLog } from '@holdpoint/runtime/testing/recorded-log';
import { createAttempts, FAILURES_MAX } from './attempts.ts';

const recorded = () => {
  const { log, lines } = recordedLog();
  const clock = { now: 0 };
  return { lines, clock, attempts: createAttempts(log, () => clock.now) };
};

type Attempts = ReturnType<typeof createAttempts>;
const fail = (attempts: Attempts, source: string, times: number): readonly (number | undefined)[] =>
  Array.from({ length: times }, () => attempts.failed(source, 'unknown'));

describe('failures of one source', () => {
  test('are taken until they are too many, and again as the first of them are a minute ago', () => {
    const { attempts, clock } = recorded();
    for (let i = 0; i < FAILURES_MAX; i += 1) {
      clock.now = i * 1_000;
      expect(attempts.failed('a', 'unknown')).toBeUndefined();
    }
    expect(attempts.failed('a', 'unknown')).toBe(41_000);
    clock.now = 59_999;
    expect(attempts.failed('a', 'unknown')).toBe(1);
    clock.now = 60_000;
    expect(attempts.failed('a', 'unknown')).toBeUndefined();
    expect(attempts.failed('a', 'unknown')).toBe(1_000);
  });

  test.each([
    ['2001:db8::1', '2001:db8:0:0:ffff::2'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['fe80::1%eth0', 'fe80::2'],
  ])('count together for %s and %s, which are one network or one address', (one, other) => {
    const { attempts } = recorded();
    fail(attempts, one, FAILURES_MAX);
    expect(attempts.failed(other, 'unknown')).toBe(60_000);
  });

  test.each([
    ['2001:db8::1', '2001:db8:0:1::1'],
    ['10.0.0.1', '10.0.0.2'],
    ['bus', '10.0.0.1'],
  ])('do not count for another: %s and %s', (one, other) => {
    const { attempts } = recorded();
    fail(attempts, one, FAILURES_MAX);
    expect(attempts.failed(other, 'unknown')).toBeUndefined();
  });
});

test('so many sources are remembered and no more; whoever failed longest ago is forgotten', () => {
  const { attempts } = recorded();
  fail(attempts, 'first', FAILURES_MAX);
  fail(attempts, 'second', FAILURES_MAX);
  attempts.failed('first', 'unknown');
  for (let i = 0; i < 9_999; i += 1) attempts.failed(`source-${String(i)}`, 'unknown');
  expect(attempts.sources()).toBe(10_000);
  expect(attempts.failed('first', 'unknown')).toBe(60_000);
  expect(attempts.failed('second', 'unknown')).toBeUndefined();
  expect(attempts.sources()).toBe(10_000);
});

test('a log line comes once a second at the most, and says how many there were', () => {
  const { attempts, clock, lines } = recorded();
  fail(attempts, 'a', 30);
  attempts.noted('b', 'scope');
  expect(lines).toEqual([
    { message: 'authentication failed', fields: { source: 'a', kind: 'unknown', failures: 1 } },
  ]);
  clock.now = 1_000;
  attempts.failed('a', 'expired');
  expect(lines.slice(1)).toMatchObject([{ fields: { kind: 'expired', failures: 31 } }]);
});

test('every kind of failure is counted, from none on', () => {
  const { attempts } = recorded();
  fail(attempts, 'a', 25);
  attempts.noted('a', 'missing');
  expect(Object.fromEntries(attempts.counted().map(({ labels, value }) => [labels.kind, value]))).toEqual({
    missing: 1,
    unknown: 25,
    expired: 0,
    revoked: 0,
    oidc: 0,
    scope: 0,
  });
});
