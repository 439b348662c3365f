import { type Step, walk } from '@holdpoint/runtime/testing/explore';

export type { Step };

/** A small world whose every history is explored. */
export type Model<World> = {
  readonly start: World;
  readonly steps: (world: World) => readonly Step<World>[];
  /** The faults of a world, in a few words each. */
  readonly wrong: (world: World) => readonly string[];
  /** States in which a history may end. One must be reachable from every world. */
  readonly rests: (world: World) => boolean;
};

export const HOLDS = 'holds';
export const DEAD_END = 'dead end';

/** `HOLDS`, or the first fault with the shortest way there. */
export type Verdict<World> = {
  readonly verdict: string;
  readonly way: readonly string[];
  readonly worlds: readonly World[];
};

/** A larger model would be slow, and cutting it off would make its claim of completeness false. */
const WORLDS_MAX = 200_000;

/**
 * Explores every interleaving breadth first, to the first faulty world or the first without a way to a rest.
 */
export const examine = <World extends object>(
  { start, steps, wrong, rests }: Model<World>,
  worldsMax = WORLDS_MAX,
): Verdict<World> => {
  const worlds: World[] = [];
  const found: { readonly from: number | undefined; readonly label: string }[] = [];
  const sources: number[][] = [];
  const wayTo = (index: number): readonly string[] => {
    const way: string[] = [];
    for (let at = found[index]; at?.from !== undefined; at = found[at.from]) way.unshift(at.label);
    return way;
  };
  for (const { from, label, to, world } of walk(start, steps)) {
    const known = sources[to];
    if (known !== undefined) {
      if (from !== undefined) known.push(from);
      continue;
    }
    if (to >= worldsMax) throw new Error(`more than ${String(worldsMax)} worlds`);
    worlds.push(world);
    found.push({ from, label });
    sources.push(from === undefined ? [] : [from]);
    const [fault] = wrong(world);
    if (fault !== undefined) return { verdict: fault, way: wayTo(to), worlds };
  }
  const lost = firstOutside(worlds, sources, rests);
  return lost === undefined
    ? { verdict: HOLDS, way: [], worlds }
    : { verdict: DEAD_END, way: wayTo(lost), worlds };
};

/** The first world without a way to a rest, found backwards from all rests. */
const firstOutside = <World>(
  worlds: readonly World[],
  sources: readonly (readonly number[])[],
  rests: (world: World) => boolean,
): number | undefined => {
  const met = new Set(worlds.flatMap((world, index) => (rests(world) ? [index] : [])));
  for (const index of met) for (const source of sources[index] ?? []) met.add(source);
  const lost = worlds.findIndex((_, index) => !met.has(index));
  return lost < 0 ? undefined : lost;
};
