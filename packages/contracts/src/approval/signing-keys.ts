import { createPublicKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { createVerifier, keyIdOf } from '../values/jws.ts';

/** A public key of the approvals service: what executors and whoever verifies the audit log go by. */
export const SigningKey = z.object({
  /** Of its own bytes: what the header of a signed text calls it. */
  kid: z.string().min(1).max(64),
  /** SPKI in PEM. */
  publicKey: z.string().min(1).max(1_000),
});
export type SigningKey = z.infer<typeof SigningKey>;

/** Who asks for the keys may send one of these: a statement that has it was not made before. */
export const KeysNonce = z.string().min(1).max(64);

const KEYS_MAX = 10;
const RETIRED_MAX = 100;

/** Says, signed with a key that is trusted, which keys are to be trusted as well. Claims of a JWS. */
export const KeysClaims = z.object({
  use: z.literal('keys'),
  keys: z.array(SigningKey).min(1).max(KEYS_MAX),
  /** Those that sign nothing any more. What they have signed of the audit log stands; a grant of theirs is none. */
  retired: z.array(SigningKey).max(RETIRED_MAX).optional(),
  nonce: KeysNonce.optional(),
  /** Epoch seconds. */
  iat: z.int(),
});
export type KeysClaims = z.infer<typeof KeysClaims>;

/** What the service says of its keys: all of it, once more in a statement by each key that signs. */
export const PublishedKeys = z.object({
  keys: z.array(SigningKey),
  retired: z.array(SigningKey).optional(),
  statements: z.array(z.string().max(200_000)),
});
export type PublishedKeys = z.infer<typeof PublishedKeys>;

const PUBLIC_PEM = /-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g;

/** The Ed25519 public keys of a text in PEM. Throws `TypeError` at one that is none, and where there is none at all. */
export const publicKeysIn = (pem: string): readonly [KeyObject, ...KeyObject[]] => {
  const [first, ...rest] = (pem.match(PUBLIC_PEM) ?? []).map(publicKeyOf);
  if (first === undefined) throw new TypeError('no public key in PEM');
  return [first, ...rest];
};

const publicKeyOf = (pem: string): KeyObject => {
  let key: KeyObject;
  try {
    key = createPublicKey(pem);
  } catch (cause) {
    throw new TypeError('not a public key in PEM', { cause });
  }
  if (key.asymmetricKeyType !== 'ed25519') throw new TypeError('not an Ed25519 key');
  return key;
};

/** How a public key is published. */
export const signingKeyOf = (key: KeyObject): SigningKey => ({
  kid: keyIdOf(key),
  publicKey: key.export({ type: 'spki', format: 'pem' }).toString(),
});

/** A key under another name than its own is none. */
const keyIn = ({ kid, publicKey }: SigningKey): readonly KeyObject[] => {
  try {
    return publicKeysIn(publicKey).filter((key) => keyIdOf(key) === kid);
  } catch {
    // Whoever signed it vouches for something that is no key: nothing follows from that.
    return [];
  }
};

export type Vouched = {
  /** Those that were trusted already, and those that follow. */
  readonly keys: readonly KeyObject[];
  /** Those that statements which count have named. */
  readonly named: readonly KeyObject[];
  readonly retired: readonly KeyObject[];
};

/**
 * The keys that follow from those which are trusted: what a statement names that a trusted key has signed, and so on. With a
 * nonce, only statements that were made for it count.
 */
export const vouchedFor = (
  trusted: readonly KeyObject[],
  statements: readonly string[],
  nonce?: string,
): Vouched => {
  const keys = new Map(trusted.map((key) => [keyIdOf(key), key]));
  const named = new Map<string, KeyObject>();
  const retired = new Map<string, KeyObject>();
  for (let before = -1; before < keys.size;) {
    before = keys.size;
    const verify = createVerifier([...keys.values()]);
    for (const statement of statements) {
      const claims = KeysClaims.safeParse(verify(statement)).data;
      if (claims === undefined || (nonce !== undefined && claims.nonce !== nonce)) continue;
      for (const key of claims.keys.flatMap(keyIn)) named.set(keyIdOf(key), key);
      for (const key of (claims.retired ?? []).flatMap(keyIn)) retired.set(keyIdOf(key), key);
    }
    for (const [kid, key] of named) keys.set(kid, key);
  }
  return { keys: [...keys.values()], named: [...named.values()], retired: [...retired.values()] };
};
