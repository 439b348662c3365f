import { streams } from '@holdpoint/contracts/bus/streams';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { describe, expect, test } from 'vitest';
import { compareReleases, type Deployed, upgradePlan } from './plan.ts';

const PROGRAM = {
  version: '0.2.0',
  migrations: () => ['0001_schema', '0002_more'],
} as const;

const current: Deployed = {
  services: SERVICES.map((service) => ({
    service,
    version: '0.2.0',
    migrations: ['0001_schema', '0002_more'],
  })),
  streams: streams.map(({ name }) => ({ name, differences: [] })),
};

test('the running release needs nothing', () => {
  expect(upgradePlan(PROGRAM, current)).toEqual({ steps: [], newer: [] });
});

test('an earlier release needs its services, its missing migrations and its streams', () => {
  const plan = upgradePlan(PROGRAM, {
    services: current.services.map((each) => ({ ...each, version: '0.1.0', migrations: ['0001_schema'] })),
    streams: [
      { name: 'HP_CMD', differences: ['subjects'] },
      { name: 'HP_IN', differences: undefined },
    ],
  });
  expect(plan.newer).toEqual([]);
  expect(plan.steps.map(({ check, message }) => `${check}: ${message}`)).toEqual([
    ...SERVICES.flatMap((service) => [
      `database ${service}: apply 0002_more`,
      `service ${service}: replace 0.1.0 by 0.2.0`,
    ]),
    'stream HP_CMD: change subjects',
    'stream HP_IN: create it',
  ]);
});

describe('a deployment that is newer than the program', () => {
  test('a migration that the program does not have is named, with its schema', () => {
    const [, ...rest] = current.services;
    const migrations = ['0001_schema', '0002_more', '0003_later'];
    const later = { service: 'orchestrator', version: '0.2.0', migrations } as const;
    expect(upgradePlan(PROGRAM, { ...current, services: [later, ...rest] }).newer).toEqual([
      'the database of orchestrator has 0003_later: use a release later than 0.2.0',
    ]);
  });

  test('a service of a later release is named, and its database is not blamed', () => {
    const services = current.services.map((each) => ({ ...each, version: '0.10.0' }));
    expect(upgradePlan(PROGRAM, { ...current, services })).toEqual({
      steps: [],
      newer: SERVICES.map((service) => `${service} is 0.10.0, this program 0.2.0: install holdpoint@0.10.0`),
    });
  });
});

test('a service that does not answer is no service of an earlier release', () => {
  const [, ...rest] = current.services;
  const silent = { service: 'orchestrator', error: 'RUNTIME_UNAVAILABLE: no answer' } as const;
  expect(upgradePlan(PROGRAM, { ...current, services: [silent, ...rest] }).steps).toEqual([
    {
      check: 'service orchestrator',
      message: 'does not answer (RUNTIME_UNAVAILABLE: no answer)',
      action: 'start it, then ask again',
    },
  ]);
});

test.each([
  ['0.2.0', '0.2.0', 0],
  ['0.2.0', '0.10.0', -1],
  ['1.0.0', '0.9.9', 1],
  ['0.2.0-rc.1', '0.2.0', -1],
] as const)('releases compare by number: %s and %s', (one, other, expected) => {
  expect(Math.sign(compareReleases(one, other))).toBe(expected);
});
