import type { HiddenStream } from '../../ports/capability.ts';
import type { Matcher, Place } from './matcher.ts';

const HIDDEN = Buffer.from('[hidden]');

/** The bytes up to `end` with every place hidden. The first place may continue one that was hidden before. */
const shown = (bytes: Buffer, end: number, places: readonly Place[], isContinued: boolean): Buffer => {
  const parts: Buffer[] = [];
  let from = 0;
  for (const [index, place] of places.entries()) {
    if (place.start >= end) break;
    parts.push(bytes.subarray(from, place.start));
    if (index > 0 || !isContinued) parts.push(HIDDEN);
    from = Math.min(place.end, end);
  }
  return Buffer.concat([...parts, bytes.subarray(from, end)]);
};

/**
 * Hides secrets in a chunked stream, wherever it is split. Bytes that may begin a secret are delayed until the next
 * chunk.
 */
export const hideStream = ({ places, open }: Matcher): HiddenStream => {
  let held = Buffer.alloc(0);
  /** The first bytes that are held and belong to a secret that was hidden already. */
  let hiddenMore = 0;
  const take = (bytes: Buffer, upTo: number): Buffer => {
    const found = places(bytes);
    const isContinued = hiddenMore > 0;
    const [first] = found;
    const before = isContinued
      ? [
          {
            start: 0,
            end: Math.max(hiddenMore, first !== undefined && first.start < hiddenMore ? first.end : 0),
          },
        ]
      : [];
    const all = [...before, ...found.filter((place) => place.start >= (before[0]?.end ?? 0))];
    const split = all.find((place) => place.start < upTo && place.end > upTo);
    const result = shown(bytes, upTo, all, isContinued);
    hiddenMore = split === undefined ? 0 : split.end - upTo;
    held = Buffer.from(bytes.subarray(upTo));
    return result;
  };
  return {
    add: (chunk) => {
      const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      return take(bytes, open(bytes));
    },
    end: () => take(held, held.length),
  };
};

/** Hides secrets in a text. */
export const hideIn = ({ places }: Matcher, text: string): string => {
  const bytes = Buffer.from(text);
  const found = places(bytes);
  return found.length === 0 ? text : shown(bytes, bytes.length, found, false).toString('utf8');
};
