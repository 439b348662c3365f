import type { SimulatedProcess } from '../services/replica.ts';
import type { Release } from '../services/releases.ts';
import type { World } from '../world.ts';

/** The names of the faults. */
export const UPGRADED = 'a process of one release is replaced by the following one';
export const WENT_BACK = 'the earlier release is started again';

const EARLIEST_MS = 5_000;
const LATEST = 0.6;
const WENT_BACK_OF_ALL = 0.3;
/** Until the earlier release starts again, and until it is replaced again: parts of the time of all faults. */
const BACK_WITHIN = 0.2;

export type Upgrade = {
  /** Gives each process the release that it starts with. */
  readonly begin: (processes: readonly SimulatedProcess[]) => void;
  readonly struck: () => readonly string[];
};

/**
 * Two releases side by side: each process is replaced at a time of its own, and some go back once. Half of the runs replace the last
 * release by this one, and half replace this one by the next.
 */
export const planUpgrade = (
  { timeline, choices, trace }: World,
  overMs: number,
  without: ReadonlySet<string>,
): Upgrade => {
  const struck: string[] = [];
  const [before, after]: readonly [Release, Release] = choices.happens('the next release is installed', 0.5)
    ? ['this', 'next']
    : ['last', 'this'];

  const strikes = (name: string): boolean => {
    if (without.has(name)) return false;
    struck.push(name);
    return true;
  };

  const replace = (process: SimulatedProcess, release: Release): void => {
    trace.fault(`${process.name} is replaced: ${release} release`);
    process.install(release);
    process.crash();
  };

  const plan = (process: SimulatedProcess): void => {
    const place = `upgrade ${process.name}`;
    process.install(after);
    // The last release knows no held effects, so that an orchestrator with one is upgraded already.
    if (before === 'last' && process.name.startsWith('orchestrator')) return;
    if (!strikes(`${UPGRADED} @ ${place}`)) return;
    process.install(before);
    const at = choices.between(`when ${place}`, EARLIEST_MS, overMs * LATEST);
    timeline.in(at, () => replace(process, after));
    if (!choices.happens(`back ${place}`, WENT_BACK_OF_ALL) || !strikes(`${WENT_BACK} @ ${place}`)) return;
    const back = at + choices.between(`when back ${place}`, 0, overMs * BACK_WITHIN);
    timeline.in(back, () => replace(process, before));
    timeline.in(back + overMs * BACK_WITHIN, () => replace(process, after));
  };

  return { begin: (processes) => processes.forEach(plan), struck: () => struck };
};
