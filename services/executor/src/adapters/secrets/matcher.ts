import { decodeEscapes } from './escapes.ts';

/** A shorter secret could not be hidden without hiding ordinary words. */
export const SECRET_CHARACTERS_MIN = 8;

/** A place of a secret: `end` is exclusive. */
export type Place = { readonly start: number; readonly end: number };

export type Matcher = {
  /** Places in order; they do not overlap. */
  readonly places: (bytes: Buffer) => readonly Place[];
  /** Where the longest end of the bytes begins that may be the beginning of a secret. */
  readonly open: (bytes: Buffer) => number;
};

/**
 * The three base64 encodings of a secret inside a longer text such as `user:secret`: one for each offset in a group
 * of three bytes. Characters that also depend on the neighbours, and padding, are left out.
 */
const base64Forms = (bytes: Buffer): readonly string[] =>
  [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });

/**
 * The texts that are searched for one secret: the whole, each of its lines, and its halves. Of a secret that is split
 * in two, such as over stdout and stderr, one part always contains a half.
 */
export const textsOf = (secret: string): readonly string[] => {
  const lines = secret.split(/\r?\n/).map((line) => line.trim());
  const texts = [secret, ...(lines.length > 1 ? lines : [])];
  const halves = texts.flatMap((text) => {
    const half = Math.ceil(text.length / 2);
    return [text.slice(0, half), text.slice(-half)];
  });
  return [...texts, ...halves].filter(({ length }) => length >= SECRET_CHARACTERS_MIN);
};

const mapped = (bytes: Buffer, change: (byte: number) => number): Buffer => {
  const copy = Buffer.allocUnsafe(bytes.length);
  for (let at = 0; at < bytes.length; at += 1) copy[at] = change(bytes[at] ?? 0);
  return copy;
};
const lowerCase = (byte: number): number => (byte >= 65 && byte <= 70 ? byte + 32 : byte);
const ordinaryBase64 = (byte: number): number => (byte === 45 ? 43 : byte === 95 ? 47 : byte);

/** The bytes as one encoding sees them. Without `from` each byte keeps its place. */
type View = {
  readonly bytes: Buffer;
  readonly needles: readonly Buffer[];
  readonly from?: Uint32Array;
  readonly cut?: number | undefined;
};

/** Length of the longest end that may begin a needle. */
const openLength = (bytes: Buffer, needles: readonly Buffer[]): number => {
  let longest = 0;
  for (const needle of needles)
    for (let length = Math.min(needle.length - 1, bytes.length); length > longest; length -= 1)
      if (bytes.compare(needle, 0, length, bytes.length - length) === 0) longest = length;
  return longest;
};

const merged = (places: readonly Place[]): readonly Place[] => {
  const result: Place[] = [];
  for (const place of [...places].sort((one, other) => one.start - other.start || other.end - one.end)) {
    const last = result.at(-1);
    if (last !== undefined && place.start < last.end)
      result[result.length - 1] = { start: last.start, end: Math.max(last.end, place.end) };
    else result.push(place);
  }
  return result;
};

const unique = (texts: readonly (string | Buffer)[]): readonly Buffer[] => {
  const all = texts
    .map((text) => (typeof text === 'string' ? Buffer.from(text) : text))
    .filter(({ length }) => length > 0);
  return [...new Map(all.map((bytes) => [bytes.toString('latin1'), bytes])).values()];
};

/**
 * Finds texts in bytes: plain, in base64 and base64url at any offset, in hexadecimal digits of any case, and with any
 * of their characters escaped for URLs or JSON, also twice.
 */
export const createMatcher = (texts: readonly string[]): Matcher => {
  const long = texts.filter(({ length }) => length >= SECRET_CHARACTERS_MIN);
  const plain = unique([...texts, ...long.map((text) => text.replaceAll(' ', '+'))]);
  // A secret may itself contain such an escape, such as a URL.
  const decoded = unique(
    plain.flatMap((needle) => {
      const once = decodeEscapes(needle)?.bytes ?? needle;
      return [needle, once, decodeEscapes(once)?.bytes ?? once];
    }),
  );
  const hex = unique(long.map((text) => Buffer.from(text).toString('hex')));
  const base64 = unique(
    long
      .flatMap((text) => base64Forms(Buffer.from(text)))
      .filter(({ length }) => length >= SECRET_CHARACTERS_MIN),
  );

  /** Names and short values are the most frequent texts. Decoding shortens a text, so it cannot contain a longer needle. */
  const shortest = Math.min(...[plain, decoded, hex, base64].flat().map(({ length }) => length));

  const viewsOf = (bytes: Buffer): readonly View[] => {
    const same = [
      { bytes, needles: plain },
      { bytes: mapped(bytes, lowerCase), needles: hex },
      { bytes: mapped(bytes, ordinaryBase64), needles: base64 },
    ];
    const once = decodeEscapes(bytes);
    if (once === undefined) return same;
    const first: View = { ...once, needles: decoded };
    const twice = decodeEscapes(once.bytes);
    if (twice === undefined) return [...same, first];
    const back = (at: number): number => once.from[at] ?? bytes.length;
    const second: View = {
      bytes: twice.bytes,
      needles: decoded,
      from: twice.from.map(back),
      cut: twice.cut === undefined ? once.cut : Math.min(back(twice.cut), once.cut ?? bytes.length),
    };
    return [...same, first, second];
  };

  const placesIn = ({ bytes, needles, from }: View): readonly Place[] => {
    const found: Place[] = [];
    for (const needle of needles) {
      if (needle.length > bytes.length) continue;
      for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, at + needle.length)) {
        const end = at + needle.length;
        found.push(from === undefined ? { start: at, end } : { start: from[at] ?? 0, end: from[end] ?? end });
      }
    }
    return found;
  };

  const openIn = ({ bytes, needles, from, cut }: View): number => {
    const open = bytes.length - openLength(bytes, needles);
    if (from === undefined) return open;
    const start = from[open] ?? 0;
    if (cut === undefined) return start;
    // The last escape is cut off: all bytes that end before it may be the beginning as well.
    const past = from.findIndex((place) => place > cut);
    const known = bytes.subarray(0, past < 0 ? bytes.length : Math.max(0, past - 1));
    return Math.min(start, cut, from[known.length - openLength(known, needles)] ?? cut);
  };

  return {
    places: (bytes) => (bytes.length < shortest ? [] : merged(viewsOf(bytes).flatMap(placesIn))),
    open: (bytes) => (plain.length === 0 ? bytes.length : Math.min(...viewsOf(bytes).map(openIn))),
  };
};
