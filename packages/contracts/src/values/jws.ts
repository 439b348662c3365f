import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';

// Compact JWS (RFC 7515) with EdDSA over Ed25519 (RFC 8037). The library for this is asynchronous throughout, and
// deciders are not; with one algorithm and no negotiation there is little left to get wrong.

/** Names a key by its own bytes, so that several can be valid during a change. */
export const keyIdOf = (key: KeyObject): string => {
  const der = createPublicKey(key.export({ type: 'spki', format: 'pem' })).export({
    type: 'spki',
    format: 'der',
  });
  return createHash('sha256').update(der).digest('base64url').slice(0, 16);
};

/** The claims of a token that one of the keys has signed; undefined for anything else. Expiry is not looked at. */
export const createVerifier = (publicKeys: readonly KeyObject[]): ((token: string) => unknown) => {
  const keys = new Map(publicKeys.map((key) => [keyIdOf(key), key]));
  return (token) => {
    const [header, claims, signature, ...rest] = token.split('.');
    if (header === undefined || claims === undefined || signature === undefined || rest.length > 0)
      return undefined;
    const key = keys.get(keyNamedIn(header) ?? '');
    if (key === undefined) return undefined;
    const bytes = Buffer.from(signature, 'base64url');
    // Decoding is lenient; read strictly, each signature has one spelling, and so each grant one text.
    if (bytes.toString('base64url') !== signature) return undefined;
    return verify(null, Buffer.from(`${header}.${claims}`), key, bytes) ? parse(claims) : undefined;
  };
};

/** Which key a token says that it is signed with: a claim like any other, until it is verified. */
export const keyIdIn = (token: string): string | undefined => keyNamedIn(token.split('.', 1)[0] ?? '');

const parse = (part: string): unknown => {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as unknown;
  } catch {
    // Not JSON is not a token; the caller refuses it like any other forgery.
    return undefined;
  }
};

/** The key id, if the header asks for the one algorithm that is accepted. */
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
