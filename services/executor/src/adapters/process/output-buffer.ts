/** Text without NUL, as PostgreSQL requires it. */
export const storable = (text: string): string =>
  text.includes('\0') ? text.replaceAll(/\0+/g, (run) => '\uFFFD'.repeat(run.length)) : text;

/** Drops the rest of a character that was cut at the start. */
const fromWholeCharacter = (bytes: Buffer): Buffer => {
  let from = 0;
  while (from < 3 && ((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1;
  return bytes.subarray(from);
};

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

/** Keeps the start and the end of an output, with the number of omitted bytes between them. */
export const keepOutput = (max: number): KeptOutput => {
  const headMax = Math.floor(max / 2);
  const tailMax = max - headMax;
  const head = Buffer.alloc(headMax);
  let headBytes = 0;
  // A ring buffer: a flood needs no more memory.
  let ring = Buffer.alloc(0);
  let pastHead = 0;

  const addToTail = (rest: Buffer): void => {
    if (rest.length === 0 || tailMax === 0) return;
    if (ring.length === 0) ring = Buffer.alloc(tailMax);
    const last = rest.subarray(Math.max(0, rest.length - tailMax));
    const at = (pastHead + rest.length - last.length) % tailMax;
    const fits = last.copy(ring, at);
    last.copy(ring, 0, fits);
  };
  const tailOf = (): Buffer => {
    if (pastHead <= tailMax) return ring.subarray(0, pastHead);
    const from = pastHead % tailMax;
    return Buffer.concat([ring.subarray(from), ring.subarray(0, from)]);
  };
  return {
    add: (chunk) => {
      const taken = chunk.copy(head, headBytes);
      headBytes += taken;
      const rest = chunk.subarray(taken);
      addToTail(rest);
      pastHead += rest.length;
    },
    truncated: () => pastHead > tailMax,
    text: () => {
      const first = head.subarray(0, headBytes);
      const tail = tailMax === 0 ? Buffer.alloc(0) : tailOf();
      const missing = pastHead - tail.length;
      if (missing === 0) return storable(Buffer.concat([first, tail]).toString('utf8'));
      const start = toWholeCharacter(first).toString('utf8');
      const end = fromWholeCharacter(tail).toString('utf8');
      return storable(`${start}\n[... ${String(missing)} bytes omitted ...]\n${end}`);
    },
  };
};
