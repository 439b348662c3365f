import { describe, expect, test } from 'vitest';
import { createOrigins } from './origins.ts';
import { WebEnv } from './settings.ts';

const { isConfigured, mayConnect } = createOrigins(['https://approvals.example']);

describe('an allowed origin', () => {
  test.each([
    ['without an origin, such as a CLI,', undefined],
    ['of the service itself', 'http://holdpoint.internal:8080'],
    ['of the service behind a TLS proxy', 'https://holdpoint.internal:8080'],
    ['of a configured origin', 'https://approvals.example'],
  ])('a page %s may connect', (_, origin) => {
    expect(mayConnect(origin, 'holdpoint.internal:8080')).toBe(true);
  });
});

describe('a refused origin', () => {
  test.each([
    'null',
    '',
    'https://approvals.example.evil',
    'https://evil.example/https://approvals.example',
    'http://approvals.example',
    'https://approvals.example:444',
    'http://holdpoint.internal',
    'http://holdpoint.internal:80801',
    'http://evil@holdpoint.internal:8080',
  ])('a page of origin %j may not connect', (origin) => {
    expect(mayConnect(origin, 'holdpoint.internal:8080')).toBe(false);
    expect(isConfigured(origin)).toBe(false);
  });

  test('a page may not connect without a Host header', () => {
    expect(mayConnect('http://undefined', undefined)).toBe(false);
  });
});

describe('settings of origins and WebSocket', () => {
  test('by default no origins are allowed and the heartbeat is fifteen seconds', () => {
    expect(WebEnv.parse({})).toEqual({
      HOLDPOINT_WEB_ORIGINS: [],
      HOLDPOINT_TRUSTED_PROXIES: [],
      HOLDPOINT_WATCH_HEARTBEAT_MS: 15_000,
    });
  });

  test('origins are comma-separated', () => {
    const { HOLDPOINT_WEB_ORIGINS: origins } = WebEnv.parse({
      HOLDPOINT_WEB_ORIGINS: ' https://a.example , http://localhost:5173,',
    });
    expect(origins).toEqual(['https://a.example', 'http://localhost:5173']);
  });

  test.each([
    '*',
    'a.example',
    'https://a.example/',
    'https://a.example/x',
    'null',
    'ftp://a.example',
    'https://A.example',
  ])('the origin %j is refused', (origin) => {
    const { success, error } = WebEnv.safeParse({ HOLDPOINT_WEB_ORIGINS: origin });
    expect(success).toBe(false);
    expect(error?.issues.map(({ path }) => path)).toEqual([['HOLDPOINT_WEB_ORIGINS']]);
  });

  test.each(['0', '99', '300001', 'soon'])('a heartbeat of %s ms is refused', (text) => {
    expect(WebEnv.safeParse({ HOLDPOINT_WATCH_HEARTBEAT_MS: text }).success).toBe(false);
  });
});
