import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { keyIdOf } from '../values/jws.ts';
import { publicKeysIn, signingKeyOf, vouchedFor } from './signing-keys.ts';

type Pair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
const pair = (): Pair => generateKeyPairSync('ed25519');
const [one, two, three, four] = [pair(), pair(), pair(), pair()] as const;

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const signedBy = (by: Pair, claims: object): string => {
  const text = `${encode({ alg: 'EdDSA', kid: keyIdOf(by.publicKey) })}.${encode({ iat: 1, ...claims })}`;
  return `${text}.${sign(null, Buffer.from(text), by.privateKey).toString('base64url')}`;
};
const statement = (by: Pair, named: readonly Pair[], more: object = {}): string =>
  signedBy(by, { use: 'keys', keys: named.map(({ publicKey }) => signingKeyOf(publicKey)), ...more });
const names = (keys: readonly KeyObject[]): string[] => keys.map(keyIdOf).toSorted();
const of = (...pairs: readonly Pair[]): string[] => names(pairs.map(({ publicKey }) => publicKey));

describe('vouched keys', () => {
  test('keys named by trusted keys are trusted, transitively', () => {
    const statements = [statement(two, [two, three]), statement(one, [one, two])];
    expect(names(vouchedFor([one.publicKey], statements).keys)).toEqual(of(one, two, three));
  });

  test('keys named by untrusted keys or by themselves are not trusted', () => {
    const statements = [statement(two, [one, two]), statement(four, [four])];
    expect(names(vouchedFor([one.publicKey], statements).keys)).toEqual(of(one));
  });

  test('keys in other statements, or under a wrong id, are not trusted', () => {
    const { kid } = signingKeyOf(one.publicKey);
    const { publicKey } = signingKeyOf(two.publicKey);
    const statements = [
      signedBy(one, { use: 'audit', keys: [signingKeyOf(two.publicKey)] }),
      signedBy(one, { use: 'keys', keys: [{ kid, publicKey }] }),
      signedBy(one, { use: 'keys', keys: [{ kid, publicKey: 'no key' }] }),
      'no statement',
    ];
    expect(names(vouchedFor([one.publicKey], statements).keys)).toEqual(of(one));
  });

  test('statements for another nonce, or for none, are ignored', () => {
    const named = [one, two];
    const trusted = [one.publicKey];
    expect(names(vouchedFor(trusted, [statement(one, named)], 'n').keys)).toEqual(of(one));
    expect(names(vouchedFor(trusted, [statement(one, named, { nonce: 'm' })], 'n').keys)).toEqual(of(one));
    expect(names(vouchedFor(trusted, [statement(one, named, { nonce: 'n' })], 'n').keys)).toEqual(
      of(one, two),
    );
  });

  test('retired keys are listed apart from valid ones', () => {
    const retired = [signingKeyOf(three.publicKey)];
    const vouched = vouchedFor([one.publicKey], [statement(one, [one], { retired })]);
    expect([names(vouched.keys), names(vouched.retired)]).toEqual([of(one), of(three)]);
  });
});

test('public keys are parsed one by one, and other content is refused', () => {
  const pem = [one, two].map(({ publicKey }) => signingKeyOf(publicKey).publicKey).join('\n');
  expect(names(publicKeysIn(pem))).toEqual(of(one, two));
  expect(() => publicKeysIn('nothing')).toThrow('no public key in PEM');
  expect(() => publicKeysIn('-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----')).toThrow(
    'not a public key',
  );
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey.export({
    type: 'spki',
    format: 'pem',
  });
  expect(() => publicKeysIn(rsa.toString())).toThrow('not an Ed25519 key');
});
