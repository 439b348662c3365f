import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';

// What contracts need of `node:crypto`, in a browser. Not the one that browsers have: it is there only on pages that came by
// HTTPS, and a console inside a company may well not.

/** SHA-256 in hexadecimal, which is all that is asked for. */
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
