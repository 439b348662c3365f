/** An invariant that did not hold. */
export type Violation = {
  readonly invariant: string;
  /** The task that it concerns, or nothing. */
  readonly about: string;
  readonly detail: string;
};

/** Counts what was checked, and keeps the first thing that was wrong. */
export type Judge = {
  readonly expect: (invariant: string, holds: boolean, about: string, detail: () => string) => void;
  readonly violation: () => Violation | undefined;
  readonly checked: () => ReadonlyMap<string, number>;
};

export const createJudge = (): Judge => {
  const checked = new Map<string, number>();
  let violation: Violation | undefined;
  return {
    expect: (invariant, holds, about, detail) => {
      checked.set(invariant, (checked.get(invariant) ?? 0) + 1);
      // What comes after a first violation may only follow from it.
      if (!holds) violation ??= { invariant, about, detail: detail() };
    },
    violation: () => violation,
    checked: () => checked,
  };
};
