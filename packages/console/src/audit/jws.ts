import { ed25519 } from '@noble/curves/ed25519.js';
import { sha256 } from '@noble/hashes/sha2.js';

// Compact JWS with Ed25519, like `@holdpoint/contracts/values/jws`, without Node.js.

const bytesOf = (base64url: string): Uint8Array<ArrayBuffer> | undefined => {
  if (!/^[A-Za-z0-9_-]*$/.test(base64url)) return undefined;
  const text = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
};

const textOf = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '');

const parse = (part: string): unknown => {
  try {
    const bytes = bytesOf(part);
    return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as unknown);
  } catch {
    // Not JSON: the caller refuses the token like any forgery.
    return undefined;
  }
};

const keyNamedIn = (header: string): string | undefined => {
  const parsed = parse(header);
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const { alg, kid } = parsed as Readonly<Record<string, unknown>>;
  return alg === 'EdDSA' && typeof kid === 'string' ? kid : undefined;
};

/** The key ID that the token claims. Unverified. */
export const keyIdIn = (token: string): string | undefined => keyNamedIn(token.split('.', 1)[0] ?? '');

/** The last 32 bytes of an Ed25519 SPKI are the key; a fixed prefix precedes them. */
const SPKI_BYTES = 44;
const SPKI_HEAD = '302a300506032b6570032100';

/** The key of a PEM text with its ID; undefined for anything else. */
const keyIn = (pem: string): readonly [kid: string, key: Uint8Array] | undefined => {
  const body = /-----BEGIN PUBLIC KEY-----([^-]+)-----END PUBLIC KEY-----/.exec(pem)?.[1];
  const plain = body?.replaceAll(/\s/g, '').replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
  const der = plain === undefined ? undefined : bytesOf(plain);
  if (der?.length !== SPKI_BYTES) return undefined;
  const head = Array.from(der.subarray(0, 12), (byte) => byte.toString(16).padStart(2, '0')).join('');
  return head === SPKI_HEAD ? [textOf(sha256(der)).slice(0, 16), der.subarray(12)] : undefined;
};

const isSigned = (signature: Uint8Array, text: string, key: Uint8Array): boolean => {
  try {
    return ed25519.verify(signature, new TextEncoder().encode(text), key, { zip215: false });
  } catch {
    // Not a signature.
    return false;
  }
};

/** The claims of a token signed by one of the keys; undefined for anything else. */
export const createVerifier = (pems: readonly string[]): ((token: string) => unknown) => {
  const keys = new Map(pems.flatMap((pem) => [keyIn(pem) ?? []].filter((entry) => entry.length === 2)));
  return (token) => {
    const [header = '', claims = '', signature = '', ...rest] = token.split('.');
    const key = keys.get(keyNamedIn(header) ?? '');
    const bytes = bytesOf(signature);
    if (key === undefined || bytes === undefined || rest.length > 0 || textOf(bytes) !== signature)
      return undefined;
    return isSigned(bytes, `${header}.${claims}`, key) ? parse(claims) : undefined;
  };
};
