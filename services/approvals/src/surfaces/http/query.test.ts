import { api } from '@holdpoint/contracts/catalog/api';
import { describe, expect, test } from 'vitest';
import { fieldsOf } from './query.ts';

const list = api.approvals.list.request;
const fields = (query: string) => fieldsOf(list, new URLSearchParams(query));

describe('a query string', () => {
  test('a query is parsed by the contract, with numbers and lists', () => {
    expect(fields('limit=5&status=pending&audience=user:ada&audience=operators&search=12')).toEqual({
      limit: 5,
      status: 'pending',
      audience: ['user:ada', 'operators'],
      search: '12',
    });
    expect(fields('audience=one')).toEqual({ audience: ['one'] });
    expect(fields('')).toEqual({});
  });

  test('a text that is no number is left to the contract', () => {
    expect(fields('limit=')).toEqual({ limit: '' });
    expect(fields('limit=1e3')).toEqual({ limit: '1e3' });
    expect(fields('limit=99999999999999999999')).toEqual({ limit: '99999999999999999999' });
  });

  test.each([
    ['statu=pending', 'statu: unknown parameter'],
    ['__proto__=x', '__proto__: unknown parameter'],
    ['constructor=x', 'constructor: unknown parameter'],
    ['limit=1&limit=2', 'limit: given more than once'],
    [`${'x'.repeat(300)}=1`, `${'x'.repeat(100)}: unknown parameter`],
  ])('the query %s is refused', (query, message) => {
    expect(() => fields(query)).toThrow(expect.objectContaining({ code: 'CONTRACT_INVALID', message }));
  });
});
