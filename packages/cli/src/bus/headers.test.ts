import { IDENTITY_HEADER } from '@holdpoint/contracts/approval/identity';
import { api } from '@holdpoint/contracts/catalog/api';
import { HEADERS, SURFACE_HEADER } from '@holdpoint/contracts/bus/cloudevents';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { describe, expect, test } from 'vitest';
import { headersFor } from './headers.ts';

const endpoints = Object.entries(api.approvals).map(([name, { description }]) => ({
  name,
  asks: description.includes('needs the header'),
}));
const asking = endpoints.filter(({ asks }) => asks).map(({ name }) => name);
const open = endpoints.filter(({ asks }) => !asks).map(({ name }) => name);

describe('the token in requests', () => {
  test.each(asking)('the token goes with approvals.%s, which needs the caller', (endpoint) => {
    expect(headersFor('approvals', endpoint, { token: 'hpt_x' }).get('authorization')).toBe('Bearer hpt_x');
  });

  test.each([
    ...open.map((endpoint) => ['approvals', endpoint] as const),
    ['orchestrator', 'submit'],
    ['executor', 'get'],
    ['recovery', 'decide'],
    ['approvals', 'toString'],
  ] as const)('the token does not go with %s.%s', (service, endpoint) => {
    expect(headersFor(service, endpoint, { token: 'hpt_x' }).has('authorization')).toBe(false);
  });

  test.each(asking)('approvals.%s without a token fails before anything is sent', (endpoint) => {
    expect(() => headersFor('approvals', endpoint, {})).toThrow(HoldpointError);
    expect(() => headersFor('approvals', endpoint, {})).toThrow(/needs a token: set HOLDPOINT_TOKEN/);
  });

  test.each(open)('approvals.%s works without a token', (endpoint) => {
    expect(headersFor('approvals', endpoint, {}).has('authorization')).toBe(false);
  });
});

test('only approvals receive the surface of a decision', () => {
  expect(headersFor('approvals', 'list', {}).get(SURFACE_HEADER)).toBe('cli');
  expect(headersFor('orchestrator', 'list', {}).has(SURFACE_HEADER)).toBe(false);
});

test('only commands to the orchestrator carry the identity of the caller', () => {
  const identity = 'a.b.c';
  expect(headersFor('orchestrator', 'submit', { identity }).get(IDENTITY_HEADER)).toBe(identity);
  expect(headersFor('orchestrator', 'get', { identity }).has(IDENTITY_HEADER)).toBe(false);
  expect(headersFor('approvals', 'decide', { identity, token: 't' }).has(IDENTITY_HEADER)).toBe(false);
});

test('a request carries its request ID', () => {
  expect(headersFor('orchestrator', 'submit', { requestId: 'r-1' }).get(HEADERS.id)).toBe('r-1');
  expect(headersFor('orchestrator', 'submit', {}).has(HEADERS.id)).toBe(false);
});
