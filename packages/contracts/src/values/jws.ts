import { createHash, type KeyObject, verify } from 'node:crypto';

// Compact JWS (RFC 7515) with EdDSA over Ed25519 (RFC 8037). Libraries for it are asynchronous, and
// deciders are not. One algorithm without negotiation leaves little room for errors.

const ids = new WeakMap<KeyObject, string>();

/** Key id derived from the key, so that several keys can be valid during a rotation. */
export const keyIdOf = (key: KeyObject): string => {
  const known = ids.get(key);
  if (known !== undefined) return known;
  const der = key.export({ type: 'spki', format: 'der' });
  const id = createHash('sha256').update(der).digest('base64url').slice(0, 16);
  ids.set(key, id);
  return id;
};

/** Claims of a token that one of the keys signed; undefined otherwise. Expiry is not checked. */
export const createVerifier = (publicKeys: readonly KeyObject[]): ((token: string) => unknown) => {
  const keys = new Map(publicKeys.map((key) => [keyIdOf(key), key]));
  return (token) => {
    const [header, claims, signature, ...rest] = token.split('.');
    if (header === undefined || claims === undefined || signature === undefined || rest.length > 0)
      return undefined;
    const key = keys.get(keyNamedIn(header) ?? '');
    if (key === undefined) return undefined;
    const bytes = Buffer.from(signature, 'base64url');
    // Decoding is lenient. The strict check gives each signature one encoding, and so each grant one
    // text.
    if (bytes.toString('base64url') !== signature) return undefined;
    return verify(null, Buffer.from(`${header}.${claims}`), key, bytes) ? parse(claims) : undefined;
  };
};

/** The claimed key id of a token, before verification. */
export const keyIdIn = (token: string): string | undefined => keyNamedIn(token.split('.', 1)[0] ?? '');

const parse = (part: string): unknown => {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as unknown;
  } catch {
    // Invalid JSON is not a token; the caller refuses it like a forgery.
    return undefined;
  }
};

/** The key id, if the header names the supported algorithm. */
const keyNamedIn = (header: string): string | undefined => {
  const parsed = parse(header);
  const accepted =
    typeof parsed === 'object' &&
    parsed !== null &&
    'alg' in parsed &&
    parsed.alg === 'EdDSA' &&
    'kid' in parsed;
  return accepted && typeof parsed.kid === 'string' ? parsed.kid : undefined;
};
