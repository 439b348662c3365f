/** What happened, for people: one line each, with who it concerns. */
export type Trace = {
  /** Whether anybody will read it: what is dear to say can be left out otherwise. */
  readonly wanted: boolean;
  /** `text` is made only when somebody will read it. */
  readonly note: (who: string, about: string, text: () => string) => void;
  readonly fault: (name: string) => void;
  readonly lines: () => readonly TraceLine[];
};
export type TraceLine = {
  readonly at: number;
  readonly who: string;
  /** The task that it concerns; empty for what concerns everybody. */
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

/** The lines that concern one task, or all of them, and every fault between them. */
export const readable = (lines: readonly TraceLine[], task: string | undefined): readonly string[] =>
  lines
    .filter(({ about }) => task === undefined || about === '' || about === task)
    .map(({ at, who, text }) => `${at.toFixed(1).padStart(11)} ms  ${who.padEnd(14)} ${text}`);
