import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import type { AuditClaims } from '@holdpoint/contracts/audit/audit';
import { Scope } from '@holdpoint/contracts/approval/access-token';
import {
  type IdentityClaims,
  IDENTITY_MS,
  type IssuedIdentity,
  type RequestSource,
} from '@holdpoint/contracts/approval/identity';
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
import type { SealSigner } from '@holdpoint/runtime/engine/seals';
import { createSigner } from '@holdpoint/runtime/service/jws';
import { privateKeyIn, sealSignerOf, type SealSource } from '@holdpoint/runtime/service/seal-key';
import type { ExecutorKeys } from '../queries/executors.ts';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { Principal } from '../approval/state.ts';
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
    .map(({ pem }) => privateKeyIn(pem, variable));
  if (first === undefined) throw new ConfigError(`${variable}: not a private key in PEM`);
  const retired = blocks
    .filter(({ isPublic }) => isPublic)
    .flatMap(({ pem }) => retiredKeysOf(pem, variable));
  return { signing: [first, ...others], retired };
};

type LoadedKeys = {
  readonly sign: (claims: object) => string;
  readonly signText: (text: Buffer) => Buffer;
  readonly signers: readonly ((claims: object) => string)[];
  readonly keys: readonly SigningKey[];
  readonly retired: readonly SigningKey[];
  readonly tokens: ApprovalTokens;
  readonly sealSigner: SealSigner;
};

const loadKeys = ({ signing, retired }: GrantKeys): LoadedKeys => ({
  sign: createSigner(signing[0]),
  signText: (text) => sign(null, text, signing[0]),
  signers: signing.map(createSigner),
  keys: signing.map((key) => signingKeyOf(createPublicKey(key.export({ type: 'pkcs8', format: 'pem' })))),
  retired: retired.map(signingKeyOf),
  tokens: createApprovalTokens(signing),
  sealSigner: sealSignerOf(signing[0]),
});

export type Keyring = {
  /** With the first key. */
  readonly sign: (claims: SignedClaims | AuditClaims) => string;
  /** Signs the text of a webhook with the first key. */
  readonly signText: (text: Buffer) => Buffer;
  readonly tokens: ApprovalTokens;
  /** Says who the owner of a token is, and from where the token was shown. `now` in epoch milliseconds. */
  readonly identify: (person: Principal, now: number, from?: RequestSource) => IssuedIdentity;
  /** The public keys, and a statement about them by each. `now` in epoch milliseconds. */
  readonly publish: (now: number, nonce?: string, about?: ExecutorKeys) => PublishedKeys;
  /** Seals messages with the first key. */
  readonly seal: SealSource;
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

const identityOf = (
  { name, groups, roles = [], scopes = Scope.options, claims, agent, token }: Principal,
  at: number,
  from: RequestSource | undefined,
): IdentityClaims => {
  const iat = Math.floor(at / 1_000);
  return {
    use: 'identity',
    sub: name,
    ...(agent !== undefined && { agent }),
    groups: [...groups],
    roles: [...roles],
    scopes: [...scopes],
    ...(claims && { claims: [...claims] }),
    ...(token !== undefined && { token }),
    ...(from && { from }),
    iat,
    exp: iat + IDENTITY_MS / 1_000,
  };
};

/** The signing keys. Keys from a file are reloaded when it changes, without a restart. */
export const createKeyring = (first: GrantKeys, path: string | undefined, log: Logger): Keyring => {
  const followed = path === undefined ? fixed(loadKeys(first)) : followKeys(first, path, log);
  const now = (): LoadedKeys => followed.current();
  return {
    sign: (claims) => now().sign(claims),
    signText: (text) => now().signText(text),
    tokens: {
      of: (id) => now().tokens.of(id),
      is: (id, token) => now().tokens.is(id, token),
    },
    identify: (person, at, from) => {
      const { name, agent } = person;
      const claims = identityOf(person, at, from);
      const assertion = now().sign(claims);
      return { assertion, expiresAt: claims.exp * 1_000, name, ...(agent !== undefined && { agent }) };
    },
    seal: { current: () => now().sealSigner, stop: () => Promise.resolve() },
    publish: (at, nonce, about) => {
      const { signers, keys, retired } = now();
      const published = { keys: [...keys], ...(retired.length > 0 && { retired: [...retired] }) };
      const claims: KeysClaims = {
        use: 'keys',
        ...published,
        ...(about !== undefined && { executors: [...about.executors], revoked: [...about.revoked] }),
        ...(nonce !== undefined && { nonce }),
        iat: Math.floor(at / 1_000),
      };
      return { ...published, statements: signers.map((sign) => sign(claims)) };
    },
    stop: followed.stop,
  };
};
