import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { isAway, isSqlState } from './errors.ts';

const withCode = (code: string, message = ''): Error => Object.assign(new Error(message), { code });

describe('the store is away', () => {
  test.each([
    '57P01',
    '57P02',
    '57P03',
    '57014',
    '08006',
    '53100',
    '53300',
    '58030',
    'XX000',
    '40P01',
    '55P03',
  ])('%s', (code) => expect(isAway(withCode(code))).toBe(true));
  test.each(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND'])('%s', (code) =>
    expect(isAway(withCode(code))).toBe(true),
  );
  test.each([
    'Query read timeout',
    'timeout exceeded when trying to connect',
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
  ])('%s', (message) => expect(isAway(new Error(message))).toBe(true));

  test('for a request that arrives while the service stops', async () => {
    const pool = new pg.Pool();
    await pool.end();
    const error: unknown = await pool.query('SELECT 1').catch((cause: unknown) => cause);
    expect(isAway(error)).toBe(true);
  });
});

describe('the store is there', () => {
  test.each(['42P01', '22P02', '23505', '40001', '42501'])('%s', (code) =>
    expect(isAway(withCode(code))).toBe(false),
  );
  test.each([new TypeError('x is not a function'), 'text', undefined])('%s', (error) =>
    expect(isAway(error)).toBe(false),
  );
});

describe('the server has said it itself', () => {
  test.each(['23505', '57P01', 'XX000', 'P0001', 'HV000'])('%s', (code) =>
    expect(isSqlState(withCode(code))).toBe(true),
  );
});

describe('the system has said it, which proves nothing about a COMMIT', () => {
  test.each(['EPIPE', 'EPERM', 'ECONNRESET'])('%s', (code) => expect(isSqlState(withCode(code))).toBe(false));
});
