import { createHmac, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';

export type ApprovalTokens = ReturnType<typeof createApprovalTokens>;

/** As RFC 9562 has version 4: 122 bits that nobody can guess. */
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
 * The token of each approval: made from its id with a secret that only this service has, so that it is stored nowhere, and is
 * the same after a restart. The first key makes them; those of the other keys still count, as long as notices with them are
 * about.
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
      // Every key is tried, each in constant time: how long it takes tells nothing.
      const found = secrets.map((secret) => {
        const expected = Buffer.from(make(secret, id));
        return expected.length === given.length && timingSafeEqual(expected, given);
      });
      return found.includes(true);
    },
  };
};
