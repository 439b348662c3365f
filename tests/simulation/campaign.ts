import { setImmediate } from 'node:timers/promises';
import { type Outcome, type Settings, simulate } from './simulate.ts';

/** Totals over many runs. */
export type Campaign = {
  readonly runs: number;
  readonly tasks: number;
  readonly steps: number;
  readonly faults: number;
  readonly checked: ReadonlyMap<string, number>;
  readonly seen: ReadonlyMap<string, number>;
  /** By kind of fault: how often it struck. */
  readonly struck: ReadonlyMap<string, number>;
  readonly failed: Outcome | undefined;
};

const add = (sum: Map<string, number>, more: Iterable<readonly [string, number]>): void => {
  for (const [name, count] of more) sum.set(name, (sum.get(name) ?? 0) + count);
};

/** Runs one seed after the other until one fails, `isOver` returns true, or no seed is left. */
export const runCampaign = async (
  seeds: Iterable<number>,
  settings: Partial<Omit<Settings, 'seed'>>,
  isOver: () => boolean = () => false,
): Promise<Campaign> => {
  const checked = new Map<string, number>();
  const seen = new Map<string, number>();
  const struck = new Map<string, number>();
  let runs = 0;
  let tasks = 0;
  let steps = 0;
  let faults = 0;
  let failed: Outcome | undefined;
  for (const seed of seeds) {
    if (isOver()) break;
    const outcome = await simulate({ ...settings, seed });
    // A run is one long turn of the event loop. Weak references are released only between turns.
    await setImmediate();
    runs += 1;
    tasks += outcome.tasks.length;
    steps += outcome.steps;
    faults += outcome.faults.length;
    add(checked, outcome.checked);
    add(seen, outcome.seen);
    add(
      struck,
      outcome.faults.map((fault) => [fault.split(' @ ')[0] ?? '', 1] as const),
    );
    if (outcome.violation !== undefined) {
      failed = outcome;
      break;
    }
  }
  return { runs, tasks, steps, faults, checked, seen, struck, failed };
};

export function* seedsFrom(first: number, count = Infinity): Generator<number> {
  for (let seed = first; seed < first + count; seed += 1) yield seed;
}
