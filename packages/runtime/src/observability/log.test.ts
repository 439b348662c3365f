import { describe, expect, test } from 'vitest';
import { errorFields } from '../engine/error-fields.ts';
import { createLogger } from './log.ts';

describe('of an error, a log has', () => {
  test('the log of an error has its class, text and stack', () => {
    const fields = errorFields(new TypeError('no such thing'));
    expect(fields).toMatchObject({ error: 'TypeError', reason: 'no such thing' });
    expect(fields.stack).toContain('log.test.ts');
    expect(fields.stack?.split('\n').length).toBeLessThanOrEqual(3);
  });

  test('the log of an error has its code', () => {
    expect(errorFields(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))).toMatchObject({
      code: 'ECONNREFUSED',
    });
  });

  test('the log of a database error has no message, which may contain values', () => {
    const error = Object.assign(new Error('invalid input syntax: "sesame"'), {
      severity: 'ERROR',
      code: '22P02',
      detail: 'Failing row contains (sesame).',
      where: 'JSON data, line 1: {"password":"sesame"}',
    });
    expect(JSON.stringify(errorFields(error))).not.toContain('sesame');
    expect(errorFields(error)).toMatchObject({ error: 'Error', code: '22P02' });
    expect(errorFields(error)).not.toHaveProperty('reason');
  });

  test('the log of an error caused by the database has no message of the database', () => {
    const cause = Object.assign(new Error('duplicate key "sesame"'), { severity: 'ERROR', code: '23505' });
    const fields = errorFields(new Error('database says 23505', { cause }));
    expect(JSON.stringify(fields)).not.toContain('sesame');
    expect(fields).toMatchObject({ reason: 'database says 23505', cause: { code: '23505' } });
  });

  test('the log of a thrown non-error has only its type', () => {
    expect(errorFields('sesame')).toEqual({ error: 'string' });
    expect(errorFields(undefined)).toEqual({ error: 'undefined' });
    expect(errorFields({ password: 'sesame' })).toEqual({ error: 'object' });
  });
});

test('an unknown log level does not break the logger', () => {
  expect(() => createLogger('recovery', 'recovery-1', 'sesame')).not.toThrow();
});
