import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSigner, createVerifier, keyIdOf } from './jws.ts';

const ours = generateKeyPairSync('ed25519');
const next = generateKeyPairSync('ed25519');
const theirs = generateKeyPairSync('ed25519');

const claims = { jti: 'a-1', sub: 'e-1', exp: 1_000 };
const token = createSigner(ours.privateKey)(claims);
const verify = createVerifier([ours.publicKey]);

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
/** A token with any header, signed by us: what only our own signer must never make. */
const signedWith = (header: unknown, body: unknown = claims): string => {
  const signed = `${encode(header)}.${encode(body)}`;
  return `${signed}.${sign(null, Buffer.from(signed), ours.privateKey).toString('base64url')}`;
};
const kid = keyIdOf(ours.publicKey);
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.';

describe('a token', () => {
  test('a token contains the signed claims', () => {
    expect(verify(token)).toEqual(claims);
  });

  test('the same claims give the same token', () => {
    expect(createSigner(ours.privateKey)({ ...claims })).toBe(token);
  });

  test('a token follows RFC 7515 with EdDSA', () => {
    const [header = '', body = '', signature = ''] = token.split('.');
    expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual({ alg: 'EdDSA', kid });
    expect(JSON.parse(Buffer.from(body, 'base64url').toString())).toEqual(claims);
    expect(Buffer.from(signature, 'base64url')).toHaveLength(64);
  });

  test('a token is invalid under another key with the same key id', () => {
    expect(createVerifier([theirs.publicKey])(token)).toBeUndefined();
    expect(verify(createSigner(theirs.privateKey)(claims))).toBeUndefined();
    const forged = `${encode({ alg: 'EdDSA', kid })}.${encode(claims)}`;
    expect(
      verify(`${forged}.${sign(null, Buffer.from(forged), theirs.privateKey).toString('base64url')}`),
    ).toBeUndefined();
  });

  test('during a rotation tokens of both keys are valid', () => {
    const both = createVerifier([ours.publicKey, next.publicKey]);
    expect(both(token)).toEqual(claims);
    expect(both(createSigner(next.privateKey)(claims))).toEqual(claims);
    expect(both(createSigner(theirs.privateKey)(claims))).toBeUndefined();
    expect(createVerifier([])(token)).toBeUndefined();
  });
});

describe('a header', () => {
  test.each([
    ['asks for no signature', { alg: 'none', kid }],
    ['asks for another algorithm', { alg: 'HS256', kid }],
    ['asks for no algorithm', { kid }],
    ['asks for something like ours', { alg: 'eddsa', kid }],
    ['names another key', { alg: 'EdDSA', kid: keyIdOf(theirs.publicKey) }],
    ['names no key', { alg: 'EdDSA' }],
    ['names a key by no text', { alg: 'EdDSA', kid: [kid] }],
    ['is a list', [{ alg: 'EdDSA', kid }]],
    ['is null', null],
    ['is text', 'EdDSA'],
  ])('a header that %s is refused', (_, header) => {
    expect(verify(signedWith(header))).toBeUndefined();
  });

  test('a token without a signature is refused', () => {
    expect(verify(`${encode({ alg: 'none' })}.${encode(claims)}.`)).toBeUndefined();
    expect(verify(`${encode({ alg: 'EdDSA', kid })}.${encode(claims)}.`)).toBeUndefined();
  });
});

describe('a changed token is refused:', () => {
  test.each([
    ['nothing', ''],
    ['only dots', '..'],
    ['more dots', '...'],
    ['three words', 'a.b.c'],
    ['no signature', token.split('.').slice(0, 2).join('.')],
    ['a fourth part', `${token}.x`],
    ['an empty fourth part', `${token}.`],
    ['a space before it', ` ${token}`],
    ['padding', `${token}=`],
    ['a line end', `${token}\n`],
  ])('%s', (_, text) => {
    expect(verify(text)).toBeUndefined();
  });

  test('signed claims that are not JSON', () => {
    const signed = `${encode({ alg: 'EdDSA', kid })}.${Buffer.from('{').toString('base64url')}`;
    expect(
      verify(`${signed}.${sign(null, Buffer.from(signed), ours.privateKey).toString('base64url')}`),
    ).toBeUndefined();
  });

  test('a token with any one character changed', () => {
    const other = fc.constantFrom(...Array.from(ALPHABET));
    fc.assert(
      fc.property(fc.nat(token.length - 1), other, (at, character) => {
        fc.pre(token[at] !== character);
        expect(verify(`${token.slice(0, at)}${character}${token.slice(at + 1)}`)).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  test('any text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => verify(text) === undefined));
  });
});

test('the key id follows from the public half', () => {
  expect(keyIdOf(ours.publicKey)).toBe(kid);
  const again = createPrivateKey(ours.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  expect(createVerifier([ours.publicKey])(createSigner(again)(claims))).toEqual(claims);
  expect(keyIdOf(theirs.publicKey)).not.toBe(kid);
});
