import { describe, expect, test } from 'vitest';
import { createOrigins } from './origins.ts';
import { WebEnv } from './settings.ts';

const { isConfigured, mayConnect } = createOrigins(['https://approvals.example']);

describe('a page may connect', () => {
  test.each([
    ['of no origin, because it is none', undefined],
    ['of the service itself', 'http://holdpoint.internal:8080'],
    ['of the service behind a proxy that speaks TLS', 'https://holdpoint.internal:8080'],
    ['of an origin that is configured', 'https://approvals.example'],
  ])('%s', (_, origin) => {
    expect(mayConnect(origin, 'holdpoint.internal:8080')).toBe(true);
  });
});

describe('a page may not connect', () => {
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
  ])('of %j', (origin) => {
    expect(mayConnect(origin, 'holdpoint.internal:8080')).toBe(false);
    expect(isConfigured(origin)).toBe(false);
  });

  test('when nobody says whom it meant', () => {
    expect(mayConnect('http://undefined', undefined)).toBe(false);
  });
});

describe('settings of pages and watchers', () => {
  test('are none, and fifteen seconds, when left out', () => {
    expect(WebEnv.parse({})).toEqual({ HOLDPOINT_WEB_ORIGINS: [], HOLDPOINT_WATCH_HEARTBEAT_MS: 15_000 });
  });

  test('are origins with commas between them', () => {
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
  ])('are not %j, which no browser would send', (origin) => {
    const { success, error } = WebEnv.safeParse({ HOLDPOINT_WEB_ORIGINS: origin });
    expect(success).toBe(false);
    expect(error?.issues.map(({ path }) => path)).toEqual([['HOLDPOINT_WEB_ORIGINS']]);
  });

  test.each(['0', '99', '300001', 'soon'])('are no heartbeat of %s ms', (text) => {
    expect(WebEnv.safeParse({ HOLDPOINT_WATCH_HEARTBEAT_MS: text }).success).toBe(false);
  });
});
