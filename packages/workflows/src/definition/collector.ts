import { nearestName, type Problem } from '../problems/problem.ts';

type NameSet = { readonly size: number; keys(): Iterable<string> };

type NewProblem = Pick<Problem, 'code' | 'path' | 'found' | 'expected'> & {
  /** The word as written, and the known words for a suggestion. */
  readonly meant?: { readonly word: string; readonly known: NameSet };
};

/** Collects the problems of a definition. */
export type Collector = {
  readonly error: (found: NewProblem) => void;
  readonly warning: (found: NewProblem) => void;
  /** Errors come first. Beyond the limit, the last problem counts the rest. */
  readonly problems: () => Problem[];
};

/** More problems do not help, and all of them travel in one message. */
export const PROBLEMS_MAX = 500;

/** Limits the comparisons for suggestions over all problems: a large definition has many names. */
const COMPARED_MAX = 100_000;

const leftOut = (count: number, severity: Problem['severity']): Problem => ({
  code: 'WORKFLOW_PROBLEMS_MANY',
  severity,
  path: '',
  found: `${String(count)} more problems`,
  expected: 'these problems fixed first',
});

export const createCollector = (): Collector => {
  const found: Record<Problem['severity'], Problem[]> = { error: [], warning: [] };
  const counts = { error: 0, warning: 0 };
  let compared = 0;
  const nearestOf = ({ meant }: NewProblem): string | undefined => {
    if (meant === undefined) return undefined;
    compared += meant.known.size;
    return compared > COMPARED_MAX ? undefined : nearestName(meant.word, meant.known.keys());
  };
  const add = (severity: Problem['severity'], problem: NewProblem): void => {
    counts[severity] += 1;
    if (found[severity].length === PROBLEMS_MAX) return;
    const nearest = nearestOf(problem);
    const { code, path, found: what, expected } = problem;
    found[severity].push({
      code,
      severity,
      path,
      found: what,
      expected,
      ...(nearest !== undefined && { nearest }),
    });
  };
  return {
    error: (problem) => {
      add('error', problem);
    },
    warning: (problem) => {
      add('warning', problem);
    },
    problems: () => {
      const kept = [...found.error, ...found.warning].slice(0, PROBLEMS_MAX);
      const more = counts.error + counts.warning - kept.length;
      const severity = counts.error > kept.length ? 'error' : 'warning';
      return more === 0 ? kept : [...kept, leftOut(more, severity)];
    },
  };
};
