/** Marks of tasks, each with the number of its applications. */
export type Counts = ReadonlyMap<string, number>;

/** The lines of a file that effects appended to: a key, a tab and the line. */
export const countLines = (text: string): Counts => {
  const counts = new Map<string, number>();
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const mark = line.slice(line.indexOf('\t') + 1);
    counts.set(mark, (counts.get(mark) ?? 0) + 1);
  }
  return counts;
};

export type Counted = {
  readonly lost: readonly string[];
  readonly twice: readonly string[];
  /** Effects of no task. */
  readonly strange: readonly string[];
};

/** Compares the effects with those that tasks asked for. */
export const compare = (marks: readonly string[], counts: Counts): Counted => {
  const known = new Set(marks);
  return {
    lost: marks.filter((mark) => !counts.has(mark)),
    twice: [...counts].filter(([, count]) => count > 1).map(([mark]) => mark),
    strange: [...counts.keys()].filter((mark) => !known.has(mark)),
  };
};
