/**
 * Every choice of a run is a function of the seed and of what is being chosen, never of the choices before it. So one fault
 * can be taken out of a failing run while the rest of it stays as it was: that is what makes shrinking work.
 */
export type Choices = {
  /** From 0 up to 1; each time that the same label comes it is another number. */
  readonly number: (label: string) => number;
  readonly between: (label: string, from: number, to: number) => number;
  readonly happens: (label: string, probability: number) => boolean;
  readonly pick: <Item>(label: string, items: readonly Item[]) => Item;
};

/** FNV-1a over seed, label and count, mixed as murmur3 does at its end. */
const numberFrom = (seed: number, label: string, count: number): number => {
  let hash = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ count;
  for (let i = 0; i < label.length; i += 1) hash = Math.imul(hash ^ label.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
};

export const createChoices = (seed: number): Choices => {
  const counts = new Map<string, { times: number }>();
  const number = (label: string): number => {
    const count = counts.get(label);
    if (count === undefined) {
      counts.set(label, { times: 1 });
      return numberFrom(seed, label, 0);
    }
    count.times += 1;
    return numberFrom(seed, label, count.times);
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
