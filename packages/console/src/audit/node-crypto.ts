import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';

// The part of `node:crypto` that contracts need. Browsers offer their own hash only over HTTPS,
// which a console inside a company may lack.

/** SHA-256 in hexadecimal. */
export const createHash = (algorithm: string) => {
  if (algorithm !== 'sha256') throw new TypeError(`no ${algorithm} in a browser`);
  const hash = sha256.create();
  const self = {
    update: (data: string | Uint8Array) => {
      hash.update(typeof data === 'string' ? new TextEncoder().encode(data) : data);
      return self;
    },
    digest: (_encoding: 'hex') => bytesToHex(hash.digest()),
  };
  return self;
};
