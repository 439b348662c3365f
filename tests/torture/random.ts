import { createHash } from 'node:crypto';

/** Reproducible randomness: the same label gives the same numbers. */
export type Random = {
  /** From 0 up to, but not including, 1. */
  readonly next: () => number;
  /** An integer, both ends included. */
  readonly int: (min: number, max: number) => number;
  readonly chance: (probability: number) => boolean;
  readonly pick: <Item>(items: readonly Item[]) => Item;
  readonly weighted: <Item>(items: readonly Item[], weightOf: (item: Item) => number) => Item;
  readonly shuffle: <Item>(items: readonly Item[]) => readonly Item[];
};

const UINT32 = 2 ** 32;

/** sfc32, seeded with the hash of a label. */
const generator = (label: string): (() => number) => {
  const seed = createHash('sha256').update(label).digest();
  let [a, b, c, d] = [seed.readInt32LE(0), seed.readInt32LE(4), seed.readInt32LE(8), seed.readInt32LE(12)];
  return () => {
    const sum = (a + b + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / UINT32;
  };
};

export const createRandom = (label: string): Random => {
  const next = generator(label);
  const int = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  const weighted = <Item>(items: readonly Item[], weightOf: (item: Item) => number): Item => {
    let left = next() * items.reduce((sum, item) => sum + weightOf(item), 0);
    const chosen = items.find((item) => (left -= weightOf(item)) < 0) ?? items.at(-1);
    if (chosen === undefined) throw new RangeError('cannot choose from an empty list');
    return chosen;
  };
  return {
    next,
    int,
    chance: (probability) => next() < probability,
    pick: (items) => weighted(items, () => 1),
    weighted,
    shuffle: (items) =>
      items
        .map((item) => ({ item, order: next() }))
        .toSorted((one, other) => one.order - other.order)
        .map(({ item }) => item),
  };
};
