import { describe, expect, test } from 'vitest';
import { AccessTokenView, CreateAccessToken } from './access-token.ts';

const token = { name: 'laptop', sha256: 'ab'.repeat(32) };

describe('a token to be made', () => {
  test('a token needs a name and the hash of its secret; the other fields are optional', () => {
    expect(CreateAccessToken.parse(token)).toEqual(token);
  });

  test.each<[string, Record<string, unknown>]>([
    ['without a name', { name: '' }],
    ['with the secret instead of its hash', { sha256: 'hp_secret' }],
    ['with a hash in capitals, which would be another token', { sha256: 'AB'.repeat(32) }],
    ['with a hash that is too long', { sha256: 'ab'.repeat(33) }],
    ['for nobody', { principal: '' }],
    ['for somebody whose name reads as a group', { principal: 'group:operators' }],
    ['for several', { principal: 'ada,grace' }],
    ['for a name with a line end', { principal: 'ada\ngrace' }],
    ['that is good for nothing', { scopes: [] }],
    ['that is good for what there is not', { scopes: ['everything'] }],
    ['that is over before it can be used', { expiresInMs: 59_999 }],
    ['that is as good as for ever', { expiresInMs: 14 * 30 * 86_400_000 }],
  ])('%s is none', (_, change) => {
    expect(CreateAccessToken.safeParse({ ...token, ...change }).success).toBe(false);
  });
});

test('the view of a token does not contain its hash', () => {
  expect(Object.keys(AccessTokenView.shape)).not.toContain('sha256');
});
