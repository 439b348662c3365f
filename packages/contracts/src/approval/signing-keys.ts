import { createPublicKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { TOKEN } from '../bus/subjects.ts';
import { createVerifier, keyIdOf } from '../values/jws.ts';

/** A public key of the approvals service. Executors and verifiers of the audit log use it. */
export const SigningKey = z.object({
  /** Hash of the key, used as `kid` in JWS headers. */
  kid: z.string().min(1).max(64),
  /** SPKI in PEM. */
  publicKey: z.string().min(1).max(1_000),
});
export type SigningKey = z.infer<typeof SigningKey>;

/** Nonce of a caller: a statement that contains it is fresh. */
export const KeysNonce = z.string().min(1).max(64);

const KEYS_MAX = 10;
const RETIRED_MAX = 100;
/** Executors of one deployment with a key that is not revoked. */
export const EXECUTORS_MAX = 500;
export const REVOKED_MAX = 2_000;

/** Ed25519 public key in the form of a JWK: 32 bytes in base64url. */
export const RawPublicKey = z.string().regex(/^[A-Za-z0-9_-]{43}$/, '32 bytes in base64url');

/** Name of an executor: the id of its journal. */
export const ExecutorName = z.string().regex(TOKEN, 'letters, digits, - and _, at most 64');

/** An executor that the approvals service has enrolled. Its key seals the messages of that executor. */
export const EnrolledKey = z.object({ name: ExecutorName, x: RawPublicKey });
export type EnrolledKey = z.infer<typeof EnrolledKey>;

/** Claims of a JWS, signed by a trusted key, that names further trusted keys. */
export const KeysClaims = z.object({
  use: z.literal('keys'),
  keys: z.array(SigningKey).min(1).max(KEYS_MAX),
  /** Retired keys. Their signatures in the audit log stay valid; their grants do not. */
  retired: z.array(SigningKey).max(RETIRED_MAX).optional(),
  /** Enrolled executors. */
  executors: z.array(EnrolledKey).max(EXECUTORS_MAX).optional(),
  /** Key ids of executors whose seals no longer count. */
  revoked: z.array(z.string().max(64)).max(REVOKED_MAX).optional(),
  nonce: KeysNonce.optional(),
  /** Epoch seconds. */
  iat: z.int(),
});
export type KeysClaims = z.infer<typeof KeysClaims>;

/** The keys of the service, and one statement about them per signing key. */
export const PublishedKeys = z.object({
  keys: z.array(SigningKey),
  retired: z.array(SigningKey).optional(),
  statements: z.array(z.string().max(200_000)),
});
export type PublishedKeys = z.infer<typeof PublishedKeys>;

const PUBLIC_PEM = /-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g;

/**
 * The Ed25519 public keys in a PEM text. Throws `TypeError` for any other key, and for a text without
 * keys.
 */
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

/** The published form of a public key. */
export const signingKeyOf = (key: KeyObject): SigningKey => ({
  kid: keyIdOf(key),
  publicKey: key.export({ type: 'spki', format: 'pem' }).toString(),
});

/** The public key of an executor. Undefined when it is no point of the curve. */
export const publicKeyFrom = (x: string): KeyObject | undefined => {
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  } catch {
    return undefined;
  }
};

/** 32 bytes in base64url. */
export const rawPublicKeyOf = (key: KeyObject): string => key.export({ format: 'jwk' }).x ?? '';

/** The key id must match the key. */
const keyIn = ({ kid, publicKey }: SigningKey): readonly KeyObject[] => {
  try {
    return publicKeysIn(publicKey).filter((key) => keyIdOf(key) === kid);
  } catch {
    // A trusted signer vouches for an invalid key: ignore it.
    return [];
  }
};

export type Vouched = {
  /** Keys that were trusted before, and keys that follow from them. */
  readonly keys: readonly KeyObject[];
  /** Keys named by valid statements. */
  readonly named: readonly KeyObject[];
  readonly retired: readonly KeyObject[];
  /** Keys of enrolled executors. They vouch for no other key. */
  readonly executors: readonly KeyObject[];
  /** Key ids. */
  readonly revoked: readonly string[];
};

/**
 * The keys that follow from trusted ones: keys named in a statement of a trusted key, and so on. With a
 * nonce, only statements that contain it are valid.
 */
export const vouchedFor = (
  trusted: readonly KeyObject[],
  statements: readonly string[],
  nonce?: string,
): Vouched => {
  const keys = new Map(trusted.map((key) => [keyIdOf(key), key]));
  const named = new Map<string, KeyObject>();
  const retired = new Map<string, KeyObject>();
  const executors = new Map<string, KeyObject>();
  const revoked = new Set<string>();
  for (let before = -1; before < keys.size;) {
    before = keys.size;
    const verify = createVerifier([...keys.values()]);
    for (const statement of statements) {
      const claims = KeysClaims.safeParse(verify(statement)).data;
      if (claims === undefined || (nonce !== undefined && claims.nonce !== nonce)) continue;
      for (const key of claims.keys.flatMap(keyIn)) named.set(keyIdOf(key), key);
      for (const key of (claims.retired ?? []).flatMap(keyIn)) retired.set(keyIdOf(key), key);
      for (const { x } of claims.executors ?? []) {
        const key = executors.get(x) ?? publicKeyFrom(x);
        if (key !== undefined) executors.set(x, key);
      }
      for (const kid of claims.revoked ?? []) revoked.add(kid);
    }
    for (const [kid, key] of named) keys.set(kid, key);
  }
  return {
    keys: [...keys.values()],
    named: [...named.values()],
    retired: [...retired.values()],
    executors: [...executors.values()].filter((key) => !revoked.has(keyIdOf(key))),
    revoked: [...revoked],
  };
};
