import { VERSION } from '@holdpoint/contracts/values/version';
import { describe, expect, test } from 'vitest';
import { type ServiceReport, serviceFindings, skewFinding } from './services.ts';

const NOW = 1_000_000_000;

const heard = (change: Partial<NonNullable<ServiceReport['about']>> = {}): ServiceReport => ({
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

const statuses = (each: ServiceReport): Readonly<Record<string, string>> =>
  Object.fromEntries(serviceFindings([each]).map(({ check, status }) => [check, status]));

test('a healthy service has no findings', () => {
  expect(new Set(Object.values(statuses(heard())))).toEqual(new Set(['ok']));
});

test('another release is a warning, pending migrations are an error, both with advice', () => {
  const findings = serviceFindings([
    heard({ version: '9.9.9', migrations: { applied: [], pending: ['0002_more'], unknown: [] } }),
  ]);
  expect(findings.filter(({ status: standing }) => standing !== 'ok')).toMatchObject([
    { check: 'service recovery', status: 'warn' },
    { check: 'migrations recovery', status: 'fail', message: 'pending: 0002_more' },
  ]);
  expect(
    findings.filter(({ status: standing, action: todo }) => standing !== 'ok' && todo === undefined),
  ).toEqual([]);
});

test('the owner of a service is shown with its takeovers, and a service without an owner is an error', () => {
  const shown = (owner: NonNullable<ServiceReport['about']>['owner']) =>
    serviceFindings([heard({ owner })]).find(({ check }) => check === 'owner recovery');
  expect(shown({ process: 'core-1', epoch: 3 })).toMatchObject({
    status: 'ok',
    message: 'core-1, takeover 3',
  });
  expect(shown({ epoch: 3 })).toMatchObject({ status: 'fail', message: 'no process holds the lease' });
  expect(shown(undefined)).toBeUndefined();
});

test('unresolved dead letters are a warning with advice', () => {
  const [finding] = serviceFindings([{ ...heard(), deadLetters: 3 }]).filter(({ check }) =>
    check.startsWith('dead letters'),
  );
  expect(finding).toMatchObject({ status: 'warn', message: '3 unresolved' });
  expect(finding?.action).toContain('dlq list');
});

describe('clock skew', () => {
  const asked = { from: NOW, to: NOW + 500 };
  test.each([
    ['within the time that asking took', NOW + 250, 'ok'],
    ['a second ahead', NOW + 1_500, 'ok'],
    ['two seconds behind', NOW - 2_000, 'warn'],
    ['half a minute ahead', NOW + 30_500, 'fail'],
  ])('clock skew: %s', (_, clock, standing) => {
    expect(skewFinding('clock', clock, asked).status).toBe(standing);
  });
});
