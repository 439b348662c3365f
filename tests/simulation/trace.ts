/** One line for each thing that happened, with the component and the task. */
export type Trace = {
  /** Whether the trace is read. Otherwise expensive lines can be left out. */
  readonly wanted: boolean;
  /** `text` is called only for a trace that is read. */
  readonly note: (who: string, about: string, text: () => string) => void;
  readonly fault: (name: string) => void;
  readonly lines: () => readonly TraceLine[];
};
export type TraceLine = {
  readonly at: number;
  readonly who: string;
  /** The task of the line; empty when it concerns all tasks. */
  readonly about: string;
  readonly text: string;
};

export const createTrace = (now: () => number, wanted: boolean): Trace => {
  const lines: TraceLine[] = [];
  return {
    wanted,
    note: wanted
      ? (who, about, text) => void lines.push({ at: now(), who, about, text: text() })
      : () => undefined,
    fault: wanted
      ? (name) => void lines.push({ at: now(), who: 'FAULT', about: '', text: name })
      : () => undefined,
    lines: () => lines,
  };
};

/** The lines of one task, or of all, and every fault between them. */
export const readable = (lines: readonly TraceLine[], task: string | undefined): readonly string[] =>
  lines
    .filter(({ about }) => task === undefined || about === '' || about === task)
    .map(({ at, who, text }) => `${at.toFixed(1).padStart(11)} ms  ${who.padEnd(14)} ${text}`);
