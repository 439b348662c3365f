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

describe('the token', () => {
  test.each(asking)('goes with approvals.%s, which asks whose call it is', (endpoint) => {
    expect(headersFor('approvals', endpoint, { token: 'hpt_x' }).get('authorization')).toBe('Bearer hpt_x');
  });

  test.each([
    ...open.map((endpoint) => ['approvals', endpoint] as const),
    ['orchestrator', 'submit'],
    ['executor', 'get'],
    ['recovery', 'decide'],
    ['approvals', 'toString'],
  ] as const)('does not go with %s.%s', (service, endpoint) => {
    expect(headersFor(service, endpoint, { token: 'hpt_x' }).has('authorization')).toBe(false);
  });

  test.each(asking)('that is not there is asked for before anything is sent: approvals.%s', (endpoint) => {
    expect(() => headersFor('approvals', endpoint, {})).toThrow(HoldpointError);
    expect(() => headersFor('approvals', endpoint, {})).toThrow(/needs a token: set HOLDPOINT_TOKEN/);
  });

  test.each(open)('need not be there for approvals.%s', (endpoint) => {
    expect(headersFor('approvals', endpoint, {}).has('authorization')).toBe(false);
  });
});

test('approvals hear where a person decides, and others need not', () => {
  expect(headersFor('approvals', 'list', {}).get(SURFACE_HEADER)).toBe('cli');
  expect(headersFor('orchestrator', 'list', {}).has(SURFACE_HEADER)).toBe(false);
});

test('a request has the id that it is given', () => {
  expect(headersFor('orchestrator', 'submit', { requestId: 'r-1' }).get(HEADERS.id)).toBe('r-1');
  expect(headersFor('orchestrator', 'submit', {}).has(HEADERS.id)).toBe(false);
});
