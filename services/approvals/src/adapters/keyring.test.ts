import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  KeysClaims,
  publicKeysIn,
  signingKeyOf,
  vouchedFor,
} from '@holdpoint/contracts/approval/signing-keys';
import { createVerifier, keyIdOf } from '@holdpoint/runtime/service/jws';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createKeyring, type Keyring, parseGrantKeys } from './keyring.ts';

const newKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey;
const privatePem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();
const publicOf = (key: KeyObject): KeyObject => createPublicKey(privatePem(key));
const publicPem = (key: KeyObject): string => signingKeyOf(publicOf(key)).publicKey;
const kidOf = (key: KeyObject): string => keyIdOf(publicOf(key));

const [one, two, old] = [newKey(), newKey(), newKey()] as const;
const AUDIT = { use: 'audit', seq: 1, hash: '0'.repeat(64), iat: 1 } as const;

let folder = '';
let path = '';
let keyring: Keyring;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdpoint-keyring-'));
  path = join(folder, 'grant.key.pem');
  const text = privatePem(one) + privatePem(two) + publicPem(old);
  writeFileSync(path, text);
  keyring = createKeyring(parseGrantKeys(text), path, silentLogger());
});
afterEach(async () => {
  await keyring.stop();
  rmSync(folder, { recursive: true });
});

const signedBy = (key: KeyObject): boolean =>
  createVerifier([publicOf(key)])(keyring.sign(AUDIT)) !== undefined;

describe('a keyring', () => {
  test('a keyring signs with its first key', () => {
    expect([signedBy(one), signedBy(two)]).toEqual([true, false]);
  });

  test('a keyring publishes signing and retired keys with a statement by each signing key', () => {
    const { keys, retired, statements } = keyring.publish(5_000, 'n');
    expect([keys.map(({ kid }) => kid), retired?.map(({ kid }) => kid)]).toEqual([
      [kidOf(one), kidOf(two)],
      [kidOf(old)],
    ]);
    expect(statements).toHaveLength(2);
    for (const key of [one, two]) {
      const vouched = vouchedFor([publicOf(key)], statements, 'n');
      expect(vouched.keys.map(keyIdOf).toSorted()).toEqual([kidOf(one), kidOf(two)].toSorted());
      expect(vouched.retired.map(keyIdOf)).toEqual([kidOf(old)]);
    }
    const claims = KeysClaims.parse(createVerifier([publicOf(one)])(statements[0] ?? ''));
    expect(claims).toMatchObject({ nonce: 'n', iat: 5 });
    expect(JSON.stringify(keyring.publish(0))).not.toContain('PRIVATE');
  });

  test('tokens of approvals stay valid after a key change', async () => {
    const token = keyring.tokens.of('a-1');
    writeFileSync(path, privatePem(two) + privatePem(one));
    await vi.waitUntil(() => signedBy(two), { timeout: 20_000 });
    expect([keyring.tokens.is('a-1', token), keyring.tokens.of('a-1') === token]).toEqual([true, false]);
  });
});

test.each([
  ['nothing', '', 'not a private key in PEM'],
  ['only public keys', publicPem(one), 'not a private key in PEM'],
  [
    'an invalid key',
    '-----BEGIN PRIVATE KEY-----\nsesame\n-----END PRIVATE KEY-----',
    'not a private key in PEM',
  ],
  [
    'an invalid retired key',
    `${privatePem(one)}-----BEGIN PUBLIC KEY-----\nsesame\n-----END PUBLIC KEY-----`,
    'not a public key in PEM',
  ],
  [
    'a key of another type',
    generateKeyPairSync('rsa', { modulusLength: 2_048 })
      .privateKey.export({ type: 'pkcs8', format: 'pem' })
      .toString(),
    'not an Ed25519 key',
  ],
])('a key file with %s is refused without showing its content', (_, text, problem) => {
  expect(() => parseGrantKeys(text)).toThrow(`HOLDPOINT_GRANT_KEY_FILE: ${problem}`);
  expect(() => parseGrantKeys(text)).not.toThrow('sesame');
});

test('private keys sign, and public keys in the file are retired', () => {
  const { signing, retired } = parseGrantKeys(publicPem(old) + privatePem(one));
  expect([signing.map(kidOf), retired.map(keyIdOf)]).toEqual([
    [kidOf(one)],
    publicKeysIn(publicPem(old)).map(keyIdOf),
  ]);
});
