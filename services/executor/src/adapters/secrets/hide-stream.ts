import type { HiddenStream } from '../../ports/capability.ts';

const HIDDEN = Buffer.from('[hidden]');

/** The earliest match; at one position, the longest. */
const nextIn = (text: Buffer, wanted: readonly Buffer[], known: (number | undefined)[], from: number) => {
  let found: { readonly at: number; readonly length: number } | undefined;
  for (const [index, needle] of wanted.entries()) {
    const last = known[index];
    const at = last !== undefined && (last < 0 || last >= from) ? last : text.indexOf(needle, from);
    known[index] = at;
    if (at < 0) continue;
    if (found === undefined || at < found.at || (at === found.at && needle.length > found.length))
      found = { at, length: needle.length };
  }
  return found;
};

/** Length of the longest end that may begin a match. */
const openEnd = (text: Buffer, wanted: readonly Buffer[]): number => {
  let longest = 0;
  for (const needle of wanted) {
    for (let length = Math.min(needle.length - 1, text.length); length > longest; length -= 1) {
      if (text.compare(needle, 0, length, text.length - length) === 0) longest = length;
    }
  }
  return longest;
};

/** Whether the match may continue as a longer one in the next chunk. */
const mayGoOn = (text: Buffer, at: number, wanted: readonly Buffer[]): boolean =>
  wanted.some(
    (needle) =>
      needle.length > text.length - at && text.compare(needle, 0, text.length - at, at, text.length) === 0,
  );

/**
 * Hides texts in a chunked stream, wherever it is split. Bytes that may begin a match are delayed until the next
 * chunk.
 */
export const hideStream = (texts: readonly string[]): HiddenStream => {
  const wanted = texts.map((text) => Buffer.from(text));
  let open = Buffer.alloc(0);
  const take = (text: Buffer, more: boolean): Buffer => {
    const parts: Buffer[] = [];
    const known: (number | undefined)[] = [];
    let from = 0;
    for (let next = nextIn(text, wanted, known, 0); next; next = nextIn(text, wanted, known, from)) {
      if (more && mayGoOn(text, next.at, wanted)) break;
      parts.push(text.subarray(from, next.at), HIDDEN);
      from = next.at + next.length;
    }
    const rest = text.subarray(from);
    const kept = more ? openEnd(rest, wanted) : 0;
    open = Buffer.from(rest.subarray(rest.length - kept));
    const last = rest.subarray(0, rest.length - kept);
    return parts.length === 0 ? last : Buffer.concat([...parts, last]);
  };
  return {
    add: (chunk) => take(open.length === 0 ? chunk : Buffer.concat([open, chunk]), true),
    end: () => take(open, false),
  };
};
