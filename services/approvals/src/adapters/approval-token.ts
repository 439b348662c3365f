import { createHmac, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';

export type ApprovalTokens = ReturnType<typeof createApprovalTokens>;

/** A UUID of version 4 (RFC 9562): 122 bits that cannot be guessed. */
const uuidOf = (bytes: Buffer): string => {
  const [six = 0, eight = 0] = [bytes[6], bytes[8]];
  bytes[6] = (six & 0x0f) | 0x40;
  bytes[8] = (eight & 0x3f) | 0x80;
  const hex = bytes.subarray(0, 16).toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
};

const secretOf = (key: KeyObject): Buffer => {
  const der = key.export({ type: 'pkcs8', format: 'der' });
  return Buffer.from(hkdfSync('sha256', der, '', 'holdpoint approval token', 32));
};

/**
 * The token of each approval, derived from its id and the signing key. It is stored nowhere and survives a
 * restart. The first key creates tokens; those of the other keys stay valid while their notices are in use.
 */
export const createApprovalTokens = (keys: readonly [KeyObject, ...KeyObject[]]) => {
  const secrets = keys.map(secretOf);
  const make = (secret: Buffer, id: string): string =>
    uuidOf(createHmac('sha256', secret).update(id).digest());
  const [first = Buffer.alloc(0)] = secrets;
  return {
    of: (id: string): string => make(first, id),
    is: (id: string, token: string): boolean => {
      const given = Buffer.from(token.toLowerCase());
      // Every key is compared in constant time, so that timing reveals nothing.
      const found = secrets.map((secret) => {
        const expected = Buffer.from(make(secret, id));
        return expected.length === given.length && timingSafeEqual(expected, given);
      });
      return found.includes(true);
    },
  };
};
