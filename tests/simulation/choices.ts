/**
 * Every choice of a run is a function of the seed and of a label, never of earlier choices. So one fault can
 * be left out of a failing run while the rest stays the same, which makes shrinking possible.
 */
export type Choices = {
  /** From 0 up to 1. The same label gives another number on each call. */
  readonly number: (label: string) => number;
  readonly between: (label: string, from: number, to: number) => number;
  readonly happens: (label: string, probability: number) => boolean;
  readonly pick: <Item>(label: string, items: readonly Item[]) => Item;
};

/** FNV-1a. Two labels with the same hash share their numbers, which is harmless. */
const hashOf = (label: string): number => {
  let hash = 0x811c9dc5;
  for (let i = 0; i < label.length; i += 1) hash = Math.imul(hash ^ label.charCodeAt(i), 0x01000193);
  return hash;
};

/** The finalizer of murmur3 over all three. */
const mix = (seed: number, hash: number, count: number): number => {
  let mixed = Math.imul(hash ^ Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b), 0x01000193) + count;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
};

export const createChoices = (seed: number): Choices => {
  const counts = new Map<number, number>();
  const number = (label: string): number => {
    const hash = hashOf(label);
    const count = counts.get(hash) ?? 0;
    counts.set(hash, count + 1);
    return mix(seed, hash, count);
  };
  return {
    number,
    between: (label, from, to) => from + number(label) * (to - from),
    happens: (label, probability) => probability > 0 && number(label) < probability,
    pick: (label, items) => {
      const item = items[Math.floor(number(label) * items.length)];
      if (item === undefined) throw new Error(`nothing to pick from: ${label}`);
      return item;
    },
  };
};
