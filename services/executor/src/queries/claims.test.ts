import type { Scope } from '@holdpoint/contracts/approval/access-token';
import type { VerifyIdentity } from '@holdpoint/runtime/service/identity';
import { expect, test } from 'vitest';
import { claimingOf } from './claims.ts';

const asked: Scope[] = [];
const tokenFor =
  (claims?: string[]): VerifyIdentity =>
  (_assertion, scope) => {
    asked.push(scope);
    return { sub: 'ada', groups: [], roles: [], scopes: [scope], ...(claims && { claims }) };
  };
const refund = { uses: ['cap.remote.refund'] };

test('a claim without an identity is refused', () => {
  expect(() => claimingOf(tokenFor(), undefined, refund, 0)).toThrow(
    expect.objectContaining({ code: 'IDENTITY_REQUIRED' }),
  );
});

test('a claim asks for the scope of claims, and belongs to the owner of its token', () => {
  asked.splice(0);
  expect(claimingOf(tokenFor(), 'assertion', refund, 0)).toEqual({ principal: 'ada' });
  expect(asked).toEqual(['effects:claim']);
});

test('a claim comes from where approvals saw its token', () => {
  const from = { via: 'http', address: '192.0.2.7' } as const;
  const verify: VerifyIdentity = (assertion, scope, at) => ({ ...tokenFor()(assertion, scope, at), from });
  expect(claimingOf(verify, 'assertion', refund, 0)).toEqual({ principal: 'ada', from });
});

test.each([
  ['to run', { uses: ['cap.remote.deploy'] }],
  ['to compensate', { uses: ['cap.remote.refund', 'cap.remote.deploy.compensate'] }],
  ['to probe', { ...refund, probes: ['cap.remote.deploy'] }],
])('a token may claim the capabilities that it names only, %s', (_, request) => {
  const verify = tokenFor(['refund']);
  expect(claimingOf(verify, 'assertion', refund, 0)).toEqual({ principal: 'ada' });
  expect(() => claimingOf(verify, 'assertion', request, 0)).toThrow(
    expect.objectContaining({ code: 'EXECUTOR_CLAIM_REFUSED' }),
  );
});
