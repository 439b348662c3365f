/** Bytes in which escapes are replaced by their bytes, with the place of each in the original. */
export type Decoded = {
  readonly bytes: Buffer;
  /** `from[i]` is where byte `i` begins in the original; `from[bytes.length]` is the length of the original. */
  readonly from: Uint32Array;
  /** Where an escape begins that the end of the bytes cuts off. */
  readonly cut: number | undefined;
};

const PERCENT = 0x25;
const BACKSLASH = 0x5c;
const SHORT: Readonly<Record<string, number>> = {
  '"': 34,
  '\\': 92,
  '/': 47,
  "'": 39,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
};

const hexAt = (bytes: Buffer, at: number, digits: number): number | undefined => {
  const text = bytes.toString('latin1', at, at + digits);
  return text.length === digits && /^[0-9a-fA-F]+$/.test(text) ? Number.parseInt(text, 16) : undefined;
};

/** Whether the rest of the bytes is the beginning of hexadecimal digits. */
const mayBeHex = (bytes: Buffer, at: number, digits: number): boolean =>
  bytes.length < at + digits && /^[0-9a-fA-F]*$/.test(bytes.toString('latin1', at));

type Escape = { readonly length: number; readonly bytes: Buffer } | 'cut' | undefined;

const unicodeAt = (bytes: Buffer, at: number): Escape => {
  const unit = hexAt(bytes, at + 2, 4);
  if (unit === undefined) return mayBeHex(bytes, at + 2, 4) ? 'cut' : undefined;
  const isHigh = unit >= 0xd800 && unit < 0xdc00;
  if (!isHigh) return { length: 6, bytes: Buffer.from(String.fromCharCode(unit)) };
  const second = '\\u';
  const begun = bytes.toString('latin1', at + 6, at + 8);
  if (second.startsWith(begun) && mayBeHex(bytes, at + 8, 4)) return 'cut';
  const low = begun === second ? hexAt(bytes, at + 8, 4) : undefined;
  return low === undefined ? undefined : { length: 12, bytes: Buffer.from(String.fromCharCode(unit, low)) };
};

const escapeAt = (bytes: Buffer, at: number): Escape => {
  if (bytes[at] === PERCENT || bytes[at + 1] === 0x78) {
    const digits = bytes[at] === PERCENT ? 1 : 2;
    const byte = hexAt(bytes, at + digits, 2);
    if (byte !== undefined) return { length: digits + 2, bytes: Buffer.from([byte]) };
    return mayBeHex(bytes, at + digits, 2) ? 'cut' : undefined;
  }
  if (at + 1 >= bytes.length) return 'cut';
  const next = String.fromCharCode(bytes[at + 1] ?? 0);
  if (next === 'u') return unicodeAt(bytes, at);
  const byte = SHORT[next];
  return byte === undefined ? undefined : { length: 2, bytes: Buffer.from([byte]) };
};

/** Replaces `%2D`, `\u002d`, `\x2d` and the short escapes of JSON. Undefined without any. */
export const decodeEscapes = (bytes: Buffer): Decoded | undefined => {
  if (!bytes.includes(PERCENT) && !bytes.includes(BACKSLASH)) return undefined;
  const decoded = Buffer.alloc(bytes.length);
  const from = new Uint32Array(bytes.length + 1);
  let cut: number | undefined;
  let length = 0;
  const put = (byte: number, at: number): void => {
    decoded[length] = byte;
    from[length] = at;
    length += 1;
  };
  for (let at = 0; at < bytes.length;) {
    const byte = bytes[at] ?? 0;
    const found = byte === PERCENT || byte === BACKSLASH ? escapeAt(bytes, at) : undefined;
    if (found === 'cut') cut ??= at;
    if (found === undefined || found === 'cut') {
      put(byte, at);
      at += 1;
    } else {
      for (const one of found.bytes) put(one, at);
      at += found.length;
    }
  }
  from[length] = bytes.length;
  return { bytes: decoded.subarray(0, length), from: from.subarray(0, length + 1), cut };
};
