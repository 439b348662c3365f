/** Text that any store can hold: no NUL. */
export const storable = (text: string): string => text.replaceAll('\0', '\uFFFD');

/** A cut may fall inside a character: what is left of it at the start is dropped. */
const fromWholeCharacter = (bytes: Buffer): Buffer => {
  let from = 0;
  while (from < 3 && ((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1;
  return bytes.subarray(from);
};

/** The same at the end. */
const toWholeCharacter = (bytes: Buffer): Buffer => {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needs > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
};

export type KeptOutput = {
  readonly add: (chunk: Buffer) => void;
  readonly text: () => string;
  readonly truncated: () => boolean;
};

/** Keeps the start and the end of what a program prints, and says between them how much was left out. */
export const keepOutput = (max: number): KeptOutput => {
  const headMax = Math.floor(max / 2);
  const tailMax = max - headMax;
  const head = Buffer.alloc(headMax);
  let headBytes = 0;
  let tail: Buffer[] = [];
  let tailBytes = 0;
  let leftOut = 0;

  const trim = (): void => {
    // Joined only now and then, so that many small chunks do not cost their square.
    if (tailBytes <= tailMax * 2 + 65_536) return;
    const joined = Buffer.concat(tail);
    leftOut += joined.length - tailMax;
    tail = [Buffer.from(joined.subarray(joined.length - tailMax))];
    tailBytes = tailMax;
  };
  return {
    add: (chunk) => {
      const taken = chunk.copy(head, headBytes);
      headBytes += taken;
      const rest = chunk.subarray(taken);
      if (rest.length === 0) return;
      tail.push(Buffer.from(rest));
      tailBytes += rest.length;
      trim();
    },
    truncated: () => leftOut > 0 || tailBytes > tailMax,
    text: () => {
      const joined = Buffer.concat(tail);
      const cut = Math.max(0, joined.length - tailMax);
      const missing = leftOut + cut;
      const first = head.subarray(0, headBytes);
      if (missing === 0) return storable(Buffer.concat([first, joined]).toString('utf8'));
      const start = toWholeCharacter(first).toString('utf8');
      const end = fromWholeCharacter(joined.subarray(cut)).toString('utf8');
      return storable(`${start}\n[... ${String(missing)} bytes left out ...]\n${end}`);
    },
  };
};
