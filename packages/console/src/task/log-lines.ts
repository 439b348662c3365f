import type { LogLine } from '@holdpoint/contracts/task/log';

/** A line of a task's live output, with the node that wrote it. */
export type TaskLine = LogLine & { readonly node: string };

/** More than this is not kept in a page: what came first goes first, and the whole log is among the artifacts. */
export const LINES_MAX = 5_000;

const keyOf = ({ node, attempt, step, stream, seq }: TaskLine): string =>
  `${node} ${String(attempt)} ${step} ${stream} ${String(seq)}`;

export type LogLines = {
  readonly lines: readonly TaskLine[];
  /** How many are not kept any more. */
  readonly dropped: number;
};

/** Keeps the latest lines, each once, however often a connection brings them. */
export const createLog = (max = LINES_MAX) => {
  const known = new Set<string>();
  let lines: TaskLine[] = [];
  let dropped = 0;
  return {
    /** Whether it was new. */
    take: (line: TaskLine): boolean => {
      const key = keyOf(line);
      if (known.has(key)) return false;
      known.add(key);
      lines.push(line);
      // Seldom, because each time costs as much as there is.
      if (lines.length > max * 1.2) {
        const gone = lines.slice(0, lines.length - max);
        lines = lines.slice(-max);
        dropped += gone.length;
        for (const each of gone.slice(0, -max)) known.delete(keyOf(each));
      }
      return true;
    },
    all: (): LogLines => ({ lines, dropped }),
  };
};

/** The lines that have all of the words, in whatever case. */
export const searched = (lines: readonly TaskLine[], words: string): readonly TaskLine[] => {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return lines;
  return lines.filter(({ line, node }) => {
    const text = `${node} ${line}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
};
