import { headerIn, HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import {
  isSigned,
  leafOf,
  type PublicKey,
  readSeal,
  rootFrom,
  type Seal,
  sealAll,
  type TreeMemo,
} from '@holdpoint/contracts/bus/seal';
import { isFromPeople, isSealed, senderOf } from '@holdpoint/contracts/bus/senders';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { type ErrorBody, errorBody, type ErrorCode } from '@holdpoint/contracts/values/errors';
import type { WireMessage } from './ports.ts';

/** The key of this process, with which it seals its messages. */
export type SealSigner = { readonly kid: string; readonly sign: (text: Uint8Array) => Uint8Array };

/** A key that seals messages, and the service that has it. */
export type SealKey = { readonly role: ServiceName; readonly key: PublicKey };

/** The keys of others, as this process knows them at this moment. */
export type SealKeys = {
  readonly sealKey: (kid: string) => SealKey | 'unknown' | 'retired' | 'revoked';
  /** The key is unknown, but may be known soon. */
  readonly mayLearn: (kid: string) => boolean;
};

/** A message as it arrives. */
export type SealedMessage = {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly header: (name: string) => string | undefined;
};

/**
 * `key`: the id of the key that sealed the message. `later`: the key is not known yet. `ignored`: the key is retired; the
 * sender asks or answers again with its new key.
 */
export type SealFinding =
  | { readonly key: string }
  | { readonly later: true }
  | { readonly ignored: true }
  | { readonly error: ErrorBody };

/** Finds out which service has sealed a message, and whether that service may send it. */
export type CheckSeal = (message: SealedMessage) => SealFinding;

export type Seals = {
  /** Adds a seal to each message on which a service decides. The messages of one call share one signature. */
  readonly seal: (messages: readonly WireMessage[]) => readonly WireMessage[];
  readonly check: CheckSeal;
};

/**
 * Why a stored message must not be handled again, if it must not. Its key must be known and in use now: the seal under a
 * retired key is never verified.
 */
export const sealRefusal = (check: CheckSeal, message: SealedMessage): ErrorBody | undefined => {
  if (isFromPeople(message.subject)) return undefined;
  const finding = check(message);
  if ('key' in finding) return undefined;
  if ('error' in finding) return finding.error;
  return 'later' in finding
    ? errorBody('RUNTIME_UNAVAILABLE', 'the key of the sender is not known yet; try again')
    : errorBody('SEAL_KEY_RETIRED', 'the key of the sender is retired: drop this message');
};

/** Verified roots that are remembered, so that a batch costs its reader one verification. */
const ROOTS_MAX = 2_000;
/** Trees whose computed nodes are remembered. */
const TREES_MAX = 16;

const refused = (code: ErrorCode, message: string): SealFinding => ({ error: errorBody(code, message) });

const idOf = ({ headers }: WireMessage): string => headerIn(headers, HEADERS.id) ?? '';

/** Whether this key sealed this root. */
export type SealVerifier = (seal: Seal, root: Uint8Array, key: SealKey) => boolean;

const isVerified: SealVerifier = ({ size, signature }, root, { key }) => isSigned(key, size, root, signature);

/** Verifies each root once. Services of a process that read the same messages share it. */
export const createSealVerifier = (verifies = isVerified): SealVerifier => {
  const verified = new Map<string, PublicKey>();
  return (seal, root, key) => {
    const name = `${seal.kid}.${String(seal.size)}.${Buffer.from(root).toString('base64url')}`;
    if (verified.get(name)?.equals(key.key) === true) return true;
    if (!verifies(seal, root, key)) return false;
    const [oldest] = verified.keys();
    if (verified.size >= ROOTS_MAX && oldest !== undefined) verified.delete(oldest);
    verified.set(name, key.key);
    return true;
  };
};

/** Seals outgoing messages, and checks the seals of incoming ones. */
export const createSeals = (
  signer: () => SealSigner,
  keys: SealKeys,
  isAuthentic: SealVerifier = createSealVerifier(),
): Seals => {
  const memos = new Map<string, TreeMemo>();

  /** The messages of a flush arrive together, so few trees are remembered. */
  const memoOf = (text: string): TreeMemo => {
    const tree = text.slice(text.lastIndexOf('.'));
    const known = memos.get(tree);
    if (known !== undefined) return known;
    const [oldest] = memos.keys();
    if (memos.size >= TREES_MAX && oldest !== undefined) memos.delete(oldest);
    const memo: TreeMemo = new Map();
    memos.set(tree, memo);
    return memo;
  };

  const check: CheckSeal = ({ subject, data, header }) => {
    const text = header(HEADERS.seal);
    if (text === undefined)
      return refused('SEAL_MISSING', 'The message has no seal; only services may send it');
    const seal = readSeal(text);
    const id = header(HEADERS.id);
    if (seal === undefined || id === undefined) return refused('SEAL_INVALID', 'The seal cannot be read');
    const key = keys.sealKey(seal.kid);
    if (key === 'retired') return { ignored: true };
    if (key === 'revoked') return refused('SEAL_KEY_REVOKED', `The key ${seal.kid} is revoked`);
    if (key === 'unknown')
      return keys.mayLearn(seal.kid)
        ? { later: true }
        : refused('SEAL_KEY_UNKNOWN', `The key ${seal.kid} belongs to no service of this deployment`);
    const root = rootFrom(leafOf({ subject, id, body: data }), seal, memoOf(text));
    if (root === undefined || !isAuthentic(seal, root, key))
      return refused('SEAL_INVALID', 'The seal does not fit the message: it was changed or forged');
    if (senderOf(subject) !== key.role)
      return refused('SEAL_SENDER_NOT_ALLOWED', `The ${key.role} service may not send this message`);
    return { key: seal.kid };
  };

  return {
    check,
    seal: (messages) => {
      const own = messages.filter(({ subject }) => isSealed(subject));
      if (own.length === 0) return messages;
      const { kid, sign } = signer();
      const texts = sealAll(
        own.map((message) => ({ subject: message.subject, id: idOf(message), body: message.body })),
        kid,
        sign,
      );
      const sealOf = new Map(own.map((message, index) => [message, texts[index] ?? '']));
      return messages.map((message) => {
        const seal = sealOf.get(message);
        return seal === undefined
          ? message
          : { ...message, headers: [...message.headers, [HEADERS.seal, seal] as const] };
      });
    },
  };
};
