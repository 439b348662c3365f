import { expect, test } from 'vitest';
import { api } from './api.ts';
import { CONSOLE_SCOPES, scopeOfEndpoint } from './scopes.ts';

const OF_EVERY_SERVICE = ['info', 'counts', 'retention', 'purge'];
const closed = (service: keyof typeof api): readonly string[] =>
  Object.keys(api[service]).filter((endpoint) => scopeOfEndpoint(service, endpoint) === undefined);

test.each([
  ['orchestrator', ['program_register', 'program_list', 'work', 'value_put', 'value_get']],
  [
    'approvals',
    ['dead_letter_list', 'dead_letter_get', 'dead_letter_resolve', 'executor_join', 'executor_list'],
  ],
  ['executor', []],
  ['recovery', ['classify']],
] as const)('every endpoint of %s has a scope, except those that only bus users call', (service, own) => {
  expect(closed(service)).toEqual([...OF_EVERY_SERVICE, ...own]);
});

test.each(['orchestrator', 'executor', 'recovery'])(
  'dead letters of %s have the scopes of the console',
  (service) => {
    const scopes = ['list', 'get', 'resolve'].map((verb) => scopeOfEndpoint(service, `dead_letter_${verb}`));
    expect(scopes).toEqual(['tasks:read', 'tasks:read', 'operations:write']);
    expect([CONSOLE_SCOPES.dead_letters, CONSOLE_SCOPES.resolve_dead_letter]).toEqual(scopes.slice(1));
  },
);

test('unknown services and endpoints have no scope', () => {
  expect(scopeOfEndpoint('nowhere', 'get')).toBeUndefined();
  expect(scopeOfEndpoint('executor', 'toString')).toBeUndefined();
});
