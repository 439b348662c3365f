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

describe('failed authentications of one source', () => {
  test('a source waits after too many failures until the first of them is a minute old', () => {
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
  ])('failures of %s and %s count together: they are one network or address', (one, other) => {
    const { attempts } = recorded();
    fail(attempts, one, FAILURES_MAX);
    expect(attempts.failed(other, 'unknown')).toBe(60_000);
  });

  test.each([
    ['2001:db8::1', '2001:db8:0:1::1'],
    ['10.0.0.1', '10.0.0.2'],
    ['bus', '10.0.0.1'],
  ])('failures of %s and %s count separately', (one, other) => {
    const { attempts } = recorded();
    fail(attempts, one, FAILURES_MAX);
    expect(attempts.failed(other, 'unknown')).toBeUndefined();
  });
});

test('the number of remembered sources is bounded; the least recent failure is dropped', () => {
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

test('failures are logged at most once a second, with their number', () => {
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

test('every kind of failure has a counter that starts at zero', () => {
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
