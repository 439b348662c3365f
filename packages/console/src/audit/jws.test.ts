import { generateKeyPairSync, sign } from 'node:crypto';
import {
  createVerifier as createVerifierOfNode,
  keyIdOf,
  keyIdIn as keyIdOfNode,
} from '@holdpoint/contracts/values/jws';
import { describe, expect, test } from 'vitest';
import { createVerifier, keyIdIn } from './jws.ts';

const pair = generateKeyPairSync('ed25519');
const pem = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const signed = (claims: object, header: object = { alg: 'EdDSA', kid: keyIdOf(pair.publicKey) }): string => {
  const text = `${encode(header)}.${encode(claims)}`;
  return `${text}.${sign(null, Buffer.from(text), pair.privateKey).toString('base64url')}`;
};
const verify = createVerifier([pem]);
const good = signed({ use: 'audit', seq: 7, text: 'größer' });

describe('JWS and hashes in a browser, as in Node.js', () => {
  test('a statement signed by a known key is read', () => {
    expect(verify(good)).toEqual({ use: 'audit', seq: 7, text: 'größer' });
    expect(verify(good)).toEqual(createVerifierOfNode([pair.publicKey])(good));
    expect(keyIdIn(good)).toBe(keyIdOfNode(good));
  });

  test.each([
    ['another algorithm', signed({}, { alg: 'none', kid: keyIdOf(pair.publicKey) })],
    ['an unknown key', signed({}, { alg: 'EdDSA', kid: 'x' })],
    ['altered claims', good.replace(/\.[^.]+\./, `.${encode({ use: 'audit', seq: 8 })}.`)],
    ['a fourth part', `${good}.x`],
    ['padding', `${good}=`],
    ['a signature of another length', good.slice(0, -4)],
    ['no token', 'x'],
    ['nothing', ''],
  ])('a token with %s is refused', (_, token) => {
    expect(verify(token)).toBeUndefined();
    expect(createVerifierOfNode([pair.publicKey])(token)).toBeUndefined();
  });

  test('an invalid key is not trusted', () => {
    expect(
      createVerifier(['-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----', 'x'])(good),
    ).toBeUndefined();
  });
});
