import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createAuthenticator } from './principals.ts';

const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');
const known = [
  { name: 'ada', groups: ['operators'], tokenSha256: hashOf('hpt_ada') },
  { name: 'grace', groups: ['auditors', 'operators'], tokenSha256: hashOf('hpt_grace') },
];
const authenticate = createAuthenticator(known);

const errorFor = (authorization: string | undefined, by = authenticate): unknown => {
  try {
    by(authorization);
  } catch (error) {
    return error;
  }
  throw new Error('somebody was let in');
};

describe('who has a token', () => {
  test.each([
    ['Bearer hpt_ada', { name: 'ada', groups: ['operators'] }],
    ['Bearer hpt_grace', { name: 'grace', groups: ['auditors', 'operators'] }],
    ['bearer hpt_ada', { name: 'ada', groups: ['operators'] }],
  ])('%s is who it belongs to, and its hash goes no further', (authorization, principal) => {
    expect(authenticate(authorization)).toEqual(principal);
  });
});

describe('who has none, or a wrong one, is told the same:', () => {
  const none = errorFor(undefined);

  test.each([
    '',
    'hpt_ada',
    'Bearer',
    'Bearer ',
    'Bearer hpt_mallory',
    'Bearer hpt_ad',
    'Bearer hpt_adaa',
    'Bearer HPT_ADA',
    'Bearer hpt_ada hpt_grace',
    'Bearer  hpt_ada',
    ' Bearer hpt_ada',
    'Bearer hpt_ada ',
    'Bearer hpt_ada\n',
    'Basic hpt_ada',
    `Bearer ${hashOf('hpt_ada')}`,
  ])('%j', (authorization) => {
    expect(errorFor(authorization)).toEqual(none);
    expect(errorFor(authorization)).toMatchObject({ code: 'APPROVALS_UNAUTHENTICATED' });
  });

  test('a token without end', () => {
    expect(errorFor(`Bearer ${'x'.repeat(100_000)}`)).toEqual(none);
  });

  test('the token is not in what is said', () => {
    expect(JSON.stringify(errorFor('Bearer sesame'))).not.toContain('sesame');
    expect(String(errorFor('Bearer sesame'))).not.toContain('sesame');
  });

  test('where nobody is known, nobody is let in', () => {
    expect(errorFor('Bearer hpt_ada', createAuthenticator([]))).toEqual(none);
  });

  test('the hash of nothing is nobody’s token', () => {
    const careless = createAuthenticator([{ name: 'nobody', groups: [], tokenSha256: hashOf('') }]);
    for (const authorization of [undefined, '', 'Bearer ', 'Bearer'])
      expect(errorFor(authorization, careless)).toEqual(none);
  });
});
