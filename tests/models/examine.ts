import { type Step, walk } from '@holdpoint/runtime/testing/explore';

export type { Step };

/** A small world whose every possible story is told. */
export type Model<World> = {
  readonly start: World;
  readonly steps: (world: World) => readonly Step<World>[];
  /** All that is wrong with a world, each in a few words. */
  readonly wrong: (world: World) => readonly string[];
  /** Where a story may rest. One of these must stay within reach whatever has happened. */
  readonly rests: (world: World) => boolean;
};

export const HOLDS = 'holds';
export const DEAD_END = 'dead end';

/** `HOLDS`, or what is wrong and the shortest way there. */
export type Verdict<World> = {
  readonly verdict: string;
  readonly way: readonly string[];
  readonly worlds: readonly World[];
};

/** A model that has grown past this is no longer small: the run would be slow, and the claim that it is complete untrue. */
const WORLDS_MAX = 200_000;

/** Breadth first over every interleaving, to the first world that is wrong or from which no rest can be reached any more. */
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

/** The first world from which no way leads to a rest: walked backwards from all rests at once, it is not met. */
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
