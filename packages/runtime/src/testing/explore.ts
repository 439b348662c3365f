import { canonicalJson } from '@holdpoint/contracts/json';

/** A way to a state: the labels of the steps that lead there, shortest first. */
export type Found<World> = { readonly world: World; readonly way: readonly string[] };

/** A small world to walk through whole: where it starts, and where each step may lead. */
export type Explored<World> = {
  readonly start: World;
  readonly steps: (world: World) => readonly (readonly [label: string, next: World])[];
  /** Throws when a world must not be. The way there is added to what it says. */
  readonly check: (found: Found<World>) => void;
  readonly depth: number;
};

/** Breadth first, so that the first way to a fault is the shortest. Worlds with the same canonical JSON are one. */
export const explore = <World>({ start, steps, check, depth }: Explored<World>): readonly Found<World>[] => {
  const seen = new Map<string, Found<World>>([[canonicalJson(start), { world: start, way: [] }]]);
  let edge: readonly Found<World>[] = [...seen.values()];
  for (const found of edge) checked(check, found);
  for (let level = 0; level < depth && edge.length > 0; level += 1) {
    const next: Found<World>[] = [];
    for (const { world, way } of edge) {
      for (const [label, reached] of steps(world)) {
        const key = canonicalJson(reached);
        if (seen.has(key)) continue;
        const found = { world: reached, way: [...way, label] };
        checked(check, found);
        seen.set(key, found);
        next.push(found);
      }
    }
    edge = next;
  }
  return [...seen.values()];
};

const checked = <World>(check: (found: Found<World>) => void, found: Found<World>): void => {
  try {
    check(found);
  } catch (cause) {
    throw new Error(`after ${found.way.join(', ') || 'nothing'}`, { cause });
  }
};
