import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { isJoinValid, JoinExecutor, joinRequest } from './enrolment.ts';
import { rawPublicKeyOf } from './signing-keys.ts';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const other = generateKeyPairSync('ed25519');
const SECRET = 'a secret of the deployment';
const joining = { name: 'host-1', x: rawPublicKeyOf(publicKey) };
const request = joinRequest(joining, SECRET, privateKey);

describe('the enrolment of an executor', () => {
  test('a request with the join secret and the key is valid', () => {
    expect(isJoinValid(JoinExecutor.parse(request), SECRET)).toBe(true);
  });

  test.each([
    ['another secret', request, 'another secret of the deployment'],
    ['another name', { ...request, name: 'host-2' }, SECRET],
    ['the key of another executor', { ...request, x: rawPublicKeyOf(other.publicKey) }, SECRET],
    [
      'other targets than the signed ones',
      {
        ...request,
        reach: { request: ['https://evil.example'], keyed: [], idempotent: [], anyPublic: false },
      },
      SECRET,
    ],
    ['a proof without the key', joinRequest(joining, SECRET, other.privateKey), SECRET],
    [
      'a signature of another request',
      { ...request, signature: joinRequest({ ...joining, name: 'host-2' }, SECRET, privateKey).signature },
      SECRET,
    ],
    ['a point that is no key', { ...request, x: '_'.repeat(43) }, SECRET],
  ])('a request with %s is refused', (_, wrong, secret) => {
    expect(isJoinValid(wrong, secret)).toBe(false);
  });
});
