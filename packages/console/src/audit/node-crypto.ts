import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';

// The part of `node:crypto` that contracts need. Browsers offer their own hash only over HTTPS,
// which a console inside a company may lack.

/** SHA-256, in hexadecimal, as bytes, or with one character for each byte. */
export function hash(algorithm: string, data: string | Uint8Array, encoding?: 'hex' | 'binary'): string;
export function hash(algorithm: string, data: string | Uint8Array, encoding: 'buffer'): Uint8Array;
export function hash(
  algorithm: string,
  data: string | Uint8Array,
  encoding: 'hex' | 'binary' | 'buffer' = 'hex',
): string | Uint8Array {
  if (algorithm !== 'sha256') throw new TypeError(`no ${algorithm} in a browser`);
  const digest = sha256(typeof data === 'string' ? new TextEncoder().encode(data) : data);
  if (encoding === 'binary') return String.fromCharCode(...digest);
  return encoding === 'hex' ? bytesToHex(digest) : digest;
}

/** A random UUID of version 4. Browsers offer their own only over HTTPS. */
export const randomUUID = (): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytesToHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
};
