import { type Outcome, type Settings, simulate } from './simulate.ts';

/** The limit of runs while shrinking. */
const RUNS_MAX = 300;

/**
 * Leaves out faults and tasks, first halves and then smaller parts, while the same invariant still fails
 * (ddmin).
 */
export const shrink = async (
  failed: Outcome,
  settings: Pick<Settings, 'tasks' | 'bug'>,
): Promise<{ readonly outcome: Outcome; readonly without: ReadonlySet<string> }> => {
  const invariant = failed.violation?.invariant;
  const everything = [...new Set([...failed.faults, ...failed.tasks])];
  let kept = everything;
  let smallest = failed;
  let runs = 0;

  const withoutAllBut = (wanted: readonly string[]): ReadonlySet<string> => {
    const keep = new Set(wanted);
    return new Set(everything.filter((name) => !keep.has(name)));
  };
  const fails = async (wanted: readonly string[]): Promise<boolean> => {
    runs += 1;
    const outcome = await simulate({ seed: failed.seed, ...settings, without: withoutAllBut(wanted) });
    if (outcome.violation?.invariant !== invariant) return false;
    smallest = outcome;
    return true;
  };

  for (let size = Math.ceil(kept.length / 2); runs < RUNS_MAX && size >= 1;) {
    let smaller = false;
    for (let from = 0; from < kept.length && runs < RUNS_MAX;) {
      const rest = [...kept.slice(0, from), ...kept.slice(from + size)];
      if (await fails(rest)) {
        kept = rest;
        smaller = true;
      } else from += size;
    }
    if (!smaller) size = size === 1 ? 0 : Math.ceil(size / 2);
  }
  return { outcome: smallest, without: withoutAllBut(kept) };
};
