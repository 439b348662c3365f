import { describe, expect, test } from 'vitest';
import { errorFields } from '../engine/error-fields.ts';
import { createLogger } from './log.ts';

describe('of an error, a log has', () => {
  test('class, text and where it came from', () => {
    const fields = errorFields(new TypeError('no such thing'));
    expect(fields).toMatchObject({ error: 'TypeError', reason: 'no such thing' });
    expect(fields.stack).toContain('log.test.ts');
    expect(fields.stack?.split('\n').length).toBeLessThanOrEqual(3);
  });

  test('its code', () => {
    expect(errorFields(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))).toMatchObject({
      code: 'ECONNREFUSED',
    });
  });

  test('no text of the database, which may carry the values of a statement', () => {
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

  test('no text of the database either where it is the cause', () => {
    const cause = Object.assign(new Error('duplicate key "sesame"'), { severity: 'ERROR', code: '23505' });
    const fields = errorFields(new Error('database says 23505', { cause }));
    expect(JSON.stringify(fields)).not.toContain('sesame');
    expect(fields).toMatchObject({ reason: 'database says 23505', cause: { code: '23505' } });
  });

  test('no more than the kind of what is no error', () => {
    expect(errorFields('sesame')).toEqual({ error: 'string' });
    expect(errorFields(undefined)).toEqual({ error: 'undefined' });
    expect(errorFields({ password: 'sesame' })).toEqual({ error: 'object' });
  });
});

test('a level that does not exist is for the configuration to complain of: the log itself goes on', () => {
  expect(() => createLogger('recovery', 'recovery-1', 'sesame')).not.toThrow();
});
