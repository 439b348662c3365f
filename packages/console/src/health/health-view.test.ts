import { expect, test } from 'vitest';
import { healthOf, lettersOf } from './health-view.ts';

test('missing health data is shown as missing', () => {
  expect(healthOf(undefined)).toEqual({ services: [], streams: [] });
  expect(healthOf({ services: [null, { name: 'executor', up: 'yes' }] }).services).toEqual([
    { name: '?', up: false, replicas: undefined, latencyMs: undefined, detail: undefined, missing: [] },
    {
      name: 'executor',
      up: false,
      replicas: undefined,
      latencyMs: undefined,
      detail: undefined,
      missing: [],
    },
  ]);
});

test('the executor service names missing executors', () => {
  const { services } = healthOf({ services: [{ name: 'executor', up: true, missing: ['2d0a', 7] }] });
  expect(services[0]?.missing).toEqual(['2d0a']);
});

test('streams show the backlog of each service over all of its consumers', () => {
  const health = healthOf({
    streams: [
      {
        name: 'HP_CMD',
        messages: 3,
        consumers: [
          { name: 'c', service: 'executor', pending: 2, ackPending: 1 },
          { name: 'd', service: 'recovery', pending: 7, ackPending: 0 },
          { name: 'e', service: 'executor', pending: 3, ackPending: 4 },
        ],
      },
    ],
  });
  expect(health.streams[0]?.consumers).toEqual([
    { name: 'executor', pending: 5, unacknowledged: 5 },
    { name: 'recovery', pending: 7, unacknowledged: 0 },
  ]);
});

test('a dead letter without an id is omitted', () => {
  const letter = {
    subject: 'hp.cmd.task.submit',
    reason: { code: 'CONTRACT_INVALID', message: 'no goal' },
    body: '{}',
    at: 7,
  };
  expect(
    lettersOf({
      items: [{ id: 'orchestrator-3', service: 'orchestrator', letter }, { letter }, 'x'],
      more: true,
    }),
  ).toEqual({
    items: [
      {
        id: 'orchestrator-3',
        service: 'orchestrator',
        subject: 'hp.cmd.task.submit',
        code: 'CONTRACT_INVALID',
        reason: 'no goal',
        body: '{}',
        at: 7,
      },
    ],
    more: true,
  });
});
