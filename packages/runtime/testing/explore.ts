import { createNumbering } from './numbering.ts';

/** A way to a state: the labels of the steps that lead there, shortest first. */
export type Found<World> = { readonly world: World; readonly way: readonly string[] };
export type Step<World> = readonly [label: string, next: World];

/** A step as it was walked. Worlds are numbered in the order in which they were found; the start comes from nowhere. */
export type Walked<World> = {
  readonly from: number | undefined;
  readonly label: string;
  readonly to: number;
  readonly world: World;
};

/** Every step from every world that can be reached, breadth first. Worlds that are the same JSON are one. */
export function* walk<World extends object>(
  start: World,
  steps: (world: World) => readonly Step<World>[],
  depth = Infinity,
): Generator<Walked<World>, void, undefined> {
  const numberOf = createNumbering();
  const found = new Map<number, number>();
  /** Gives the place of a world in the order of finding, and remembers it when it is new. */
  const place = (world: World): number => {
    const number = numberOf(world);
    const known = found.get(number);
    if (known !== undefined) return known;
    found.set(number, found.size);
    return found.size - 1;
  };
  let edge: { readonly world: World; readonly from: number }[] = [{ world: start, from: place(start) }];
  yield { from: undefined, label: '', to: 0, world: start };
  for (let level = 0; level < depth && edge.length > 0; level += 1) {
    const next: typeof edge = [];
    for (const { world, from } of edge) {
      for (const [label, reached] of steps(world)) {
        const before = found.size;
        const to = reached === world ? from : place(reached);
        if (to === before) next.push({ world: reached, from: to });
        yield { from, label, to, world: reached };
      }
    }
    edge = next;
  }
}

/** A small world to walk through whole: where it starts, and where each step may lead. */
export type Explored<World> = {
  readonly start: World;
  readonly steps: (world: World) => readonly Step<World>[];
  /** Throws on a forbidden world. The path to it is added to the error. */
  readonly check: (found: Found<World>) => void;
  readonly depth: number;
};

/** Breadth first, so that the first way to a fault is the shortest. */
export const explore = <World extends object>({
  start,
  steps,
  check,
  depth,
}: Explored<World>): readonly Found<World>[] => {
  const found: Found<World>[] = [];
  for (const { from, label, to, world } of walk(start, steps, depth)) {
    if (to < found.length) continue;
    const each = { world, way: from === undefined ? [] : [...(found[from]?.way ?? []), label] };
    checked(check, each);
    found.push(each);
  }
  return found;
};

const checked = <World>(check: (found: Found<World>) => void, found: Found<World>): void => {
  try {
    check(found);
  } catch (cause) {
    throw new Error(`after ${found.way.join(', ') || 'nothing'}`, { cause });
  }
};
