import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import type { AuditClaims } from '@holdpoint/contracts/audit/audit';
import type { SignedClaims } from '@holdpoint/contracts/effect/grant';
import {
  type KeysClaims,
  type PublishedKeys,
  publicKeysIn,
  type SigningKey,
  signingKeyOf,
} from '@holdpoint/contracts/approval/signing-keys';
import { ConfigError } from '@holdpoint/runtime/service/config';
import { type FollowedFile, followFile } from '@holdpoint/runtime/service/follow-file';
import { createSigner } from '@holdpoint/runtime/service/jws';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { type ApprovalTokens, createApprovalTokens } from './approval-token.ts';

/**
 * The first key signs; the others verify older or future signatures. Of retired keys only the public half is
 * left.
 */
export type GrantKeys = {
  readonly signing: readonly [KeyObject, ...KeyObject[]];
  readonly retired: readonly KeyObject[];
};

/** The setting that names the file. */
export const KEY_FILE = 'HOLDPOINT_GRANT_KEY_FILE';
const PEM = /-----BEGIN ([A-Z ]+)-----[^-]+-----END [A-Z ]+-----/g;

const privateKeyOf = (pem: string, variable: string): KeyObject => {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (cause) {
    throw new ConfigError(`${variable}: not a private key in PEM`, { cause });
  }
  if (key.asymmetricKeyType !== 'ed25519') throw new ConfigError(`${variable}: not an Ed25519 key`);
  return key;
};

const retiredKeysOf = (pem: string, variable: string): readonly KeyObject[] => {
  try {
    return publicKeysIn(pem);
  } catch (cause) {
    throw new ConfigError(`${variable}: not a public key in PEM`, { cause });
  }
};

/** Throws `ConfigError` without any key. */
export const parseGrantKeys = (text: string, variable = KEY_FILE): GrantKeys => {
  const blocks = [...text.matchAll(PEM)].map(([pem, label]) => ({ pem, isPublic: label === 'PUBLIC KEY' }));
  const [first, ...others] = blocks
    .filter(({ isPublic }) => !isPublic)
    .map(({ pem }) => privateKeyOf(pem, variable));
  if (first === undefined) throw new ConfigError(`${variable}: not a private key in PEM`);
  const retired = blocks
    .filter(({ isPublic }) => isPublic)
    .flatMap(({ pem }) => retiredKeysOf(pem, variable));
  return { signing: [first, ...others], retired };
};

type LoadedKeys = {
  readonly sign: (claims: object) => string;
  readonly signers: readonly ((claims: object) => string)[];
  readonly keys: readonly SigningKey[];
  readonly retired: readonly SigningKey[];
  readonly tokens: ApprovalTokens;
};

const loadKeys = ({ signing, retired }: GrantKeys): LoadedKeys => ({
  sign: createSigner(signing[0]),
  signers: signing.map(createSigner),
  keys: signing.map((key) => signingKeyOf(createPublicKey(key.export({ type: 'pkcs8', format: 'pem' })))),
  retired: retired.map(signingKeyOf),
  tokens: createApprovalTokens(signing),
});

export type Keyring = {
  /** With the first key. */
  readonly sign: (claims: SignedClaims | AuditClaims) => string;
  readonly tokens: ApprovalTokens;
  /** The public keys, and a statement about them by each. `now` in epoch milliseconds. */
  readonly publish: (now: number, nonce?: string) => PublishedKeys;
  readonly stop: () => Promise<void>;
};

type Keys = Pick<FollowedFile<LoadedKeys>, 'current' | 'stop'>;

const fixed = (held: LoadedKeys): Keys => ({ current: () => held, stop: () => Promise.resolve() });

const followKeys = (first: GrantKeys, path: string, log: Logger): Keys =>
  followFile(
    {
      name: KEY_FILE,
      path,
      parse: (text) => loadKeys(parseGrantKeys(text)),
      changed: ({ keys, retired }) =>
        log.info(
          { keys: keys.map(({ kid }) => kid), retired: retired.map(({ kid }) => kid) },
          'grant keys reloaded: the first one signs',
        ),
    },
    loadKeys(first),
    log,
  );

/** The signing keys. Keys from a file are reloaded when it changes, without a restart. */
export const createKeyring = (first: GrantKeys, path: string | undefined, log: Logger): Keyring => {
  const followed = path === undefined ? fixed(loadKeys(first)) : followKeys(first, path, log);
  const now = (): LoadedKeys => followed.current();
  return {
    sign: (claims) => now().sign(claims),
    tokens: {
      of: (id) => now().tokens.of(id),
      is: (id, token) => now().tokens.is(id, token),
    },
    publish: (at, nonce) => {
      const { signers, keys, retired } = now();
      const published = { keys: [...keys], ...(retired.length > 0 && { retired: [...retired] }) };
      const claims: KeysClaims = {
        use: 'keys',
        ...published,
        ...(nonce !== undefined && { nonce }),
        iat: Math.floor(at / 1_000),
      };
      return { ...published, statements: signers.map((sign) => sign(claims)) };
    },
    stop: followed.stop,
  };
};
