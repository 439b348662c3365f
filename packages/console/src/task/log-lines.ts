import type { LogLine } from '@holdpoint/contracts/task/log';

/** A line of live output with its node. */
export type TaskLine = LogLine & { readonly node: string };

/** Limit of kept lines: older lines are dropped; the artifacts have the whole log. */
export const LINES_MAX = 5_000;

const keyOf = ({ node, attempt, step, stream, seq }: TaskLine): string =>
  `${node} ${String(attempt)} ${step} ${stream} ${String(seq)}`;

export type LogLines = {
  readonly lines: readonly TaskLine[];
  /** Number of dropped lines. */
  readonly dropped: number;
};

/** Keeps the latest lines without the duplicates of reconnects. */
export const createLog = (max = LINES_MAX) => {
  const known = new Set<string>();
  let lines: TaskLine[] = [];
  let dropped = 0;
  return {
    /** Whether the line was new. */
    take: (line: TaskLine): boolean => {
      const key = keyOf(line);
      if (known.has(key)) return false;
      known.add(key);
      lines.push(line);
      // Rarely: each compaction copies everything.
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

/** The lines that contain all words, ignoring case. */
export const searched = (lines: readonly TaskLine[], words: string): readonly TaskLine[] => {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return lines;
  return lines.filter(({ line, node }) => {
    const text = `${node} ${line}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
};
