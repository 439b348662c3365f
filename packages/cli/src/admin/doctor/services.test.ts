import { VERSION } from '@holdpoint/contracts/values/version';
import { describe, expect, test } from 'vitest';
import { type Heard, judgeServices, skewFinding } from './services.ts';

const NOW = 1_000_000_000;

const heard = (change: Partial<NonNullable<Heard['about']>> = {}): Heard => ({
  service: 'recovery',
  from: NOW,
  to: NOW + 10,
  about: {
    service: 'recovery',
    version: VERSION,
    instance: 'recovery-host-1',
    node: '24.21.0',
    startedAt: NOW - 60_000,
    clock: NOW + 5,
    database: { version: '18.1', clock: NOW + 5, bytes: 1_048_576 },
    migrations: { applied: ['0001_attempts'], pending: [], unknown: [] },
    ...change,
  },
});

const standings = (each: Heard): Readonly<Record<string, string>> =>
  Object.fromEntries(judgeServices([each]).map(({ check, standing }) => [check, standing]));

test('a healthy service has no findings', () => {
  expect(new Set(Object.values(standings(heard())))).toEqual(new Set(['ok']));
});

test('another release is a warning, pending migrations are an error, both with advice', () => {
  const findings = judgeServices([
    heard({ version: '9.9.9', migrations: { applied: [], pending: ['0002_more'], unknown: [] } }),
  ]);
  expect(findings.filter(({ standing }) => standing !== 'ok')).toMatchObject([
    { check: 'service recovery', standing: 'warn' },
    { check: 'migrations recovery', standing: 'fail', says: 'pending: 0002_more' },
  ]);
  expect(findings.filter(({ standing, todo }) => standing !== 'ok' && todo === undefined)).toEqual([]);
});

describe('clock skew', () => {
  const asked = { from: NOW, to: NOW + 500 };
  test.each([
    ['within the time that asking took', NOW + 250, 'ok'],
    ['a second ahead', NOW + 1_500, 'ok'],
    ['two seconds behind', NOW - 2_000, 'warn'],
    ['half a minute ahead', NOW + 30_500, 'fail'],
  ])('clock skew: %s', (_, clock, standing) => {
    expect(skewFinding('clock', clock, asked).standing).toBe(standing);
  });
});
