/** A mistake in a template, a parameter or a definition. */
export type Problem = {
  /** Starts with `WORKFLOW_`. The code is stable; texts may change. */
  readonly code: string;
  readonly severity: 'error' | 'warning';
  /**
   * The place in the document, such as `nodes[check].needs[0].plan_doc.slug`; empty for the whole document.
   */
  readonly path: string;
  readonly found: string;
  readonly expected: string;
  /** The known name closest to the one found. */
  readonly nearest?: string;
  readonly file?: string;
  /** Line and column count from one. */
  readonly line?: number;
  readonly column?: number;
};

const placeOf = ({ file, line, column }: Problem): string =>
  [file, line, column].filter((part) => part !== undefined).join(':');

/** A problem as one line of text. */
export const problemText = (problem: Problem): string => {
  const { code, severity, path, found, expected, nearest } = problem;
  const where = [placeOf(problem), path].filter((part) => part !== '').join(' ');
  const hint = nearest === undefined ? '' : ` (did you mean ${JSON.stringify(nearest)}?)`;
  const said = `${severity} ${code}: found ${found}; expected ${expected}${hint}`;
  return (where === '' ? said : `${where}: ${said}`).replaceAll(/[\r\n]+/g, ' ');
};

/** Longer texts are not names and are not compared. */
const NAME_MAX = 64;

/** The edit distance, where a swap of neighbours counts once; `limit + 1` when it is larger. */
const distance = (from: string, to: string, limit: number): number => {
  if (Math.abs(from.length - to.length) > limit) return limit + 1;
  let twoBack: readonly number[] = [];
  let before: readonly number[] = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const now = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      const swapped =
        row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      now[column] = Math.min(
        (before[column] ?? 0) + 1,
        (now[column - 1] ?? 0) + 1,
        (before[column - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (twoBack[column - 2] ?? 0) + 1 : Infinity,
      );
    }
    if (Math.min(...now) > limit) return limit + 1;
    twoBack = before;
    before = now;
  }
  return before[to.length] ?? limit + 1;
};

/** The known name that was probably meant; at most a third of its letters may differ. */
export const nearestName = (word: string, known: Iterable<string>): string | undefined => {
  if (word === '' || word.length > NAME_MAX) return undefined;
  let best: string | undefined;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const name of known) {
    const off = distance(word.toLowerCase(), name.toLowerCase(), least - 1);
    if (off >= least) continue;
    least = off;
    best = name;
  }
  return best;
};
