import { createPrivateKey, createPublicKey, sign } from 'node:crypto';

/** A key pair of NATS. */
export type Nkey = {
  /** Base32 with the prefix of its kind: `U` for a user, `A` for an account. */
  readonly publicKey: string;
  readonly sign: (input: Uint8Array) => Buffer;
};

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
/** The DER header of a private Ed25519 key of 32 bytes. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED_BYTES = 32;
const SEED = 0b10010_000;

const fromBase32 = (text: string): Buffer => {
  const bytes: number[] = [];
  let [value, bits] = [0, 0];
  for (const character of text) {
    const digit = BASE32.indexOf(character);
    if (digit < 0) throw new Error('not base32');
    value = ((value << 5) | digit) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((value >> bits) & 0xff);
  }
  return Buffer.from(bytes);
};

/** For lengths without a remainder, as that of a public key. */
const toBase32 = (bytes: Uint8Array): string => {
  const binary = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
  return (binary.match(/.{5}/g) ?? []).map((digit) => BASE32[Number.parseInt(digit, 2)]).join('');
};

/** CRC-16/XMODEM, low byte first. */
const checksum = (bytes: Uint8Array): Buffer => {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return Buffer.from([crc & 0xff, crc >> 8]);
};

/**
 * The key pair of an nkey seed. Throws for a text that is none. OpenSSL signs: the JavaScript of the NATS client takes 10 to 60 ms
 * for a signature, and a service signs several times at its start.
 */
export const nkeyOf = (seed: string): Nkey => {
  const raw = fromBase32(seed);
  const [first = 0, second = 0] = raw;
  const [content, sum] = [raw.subarray(0, -2), raw.subarray(-2)];
  if (content.length !== SEED_BYTES + 2 || (first & 0b11111_000) !== SEED || !sum.equals(checksum(content)))
    throw new Error('not an nkey seed');
  const kind = ((first & 0b111) << 5) | (second >> 3);
  const der = Buffer.concat([PKCS8, content.subarray(2)]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const point = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-SEED_BYTES);
  const name = Buffer.concat([Buffer.from([kind]), point]);
  return {
    publicKey: toBase32(Buffer.concat([name, checksum(name)])),
    sign: (input) => sign(null, input, key),
  };
};
