export type Violation = {
  readonly invariant: string;
  /** The task that it concerns, or an empty string. */
  readonly about: string;
  readonly detail: string;
};

/** Counts the checks and keeps the first violation. */
export type Checker = {
  readonly expect: (invariant: string, holds: boolean, about: string, detail: () => string) => void;
  readonly violation: () => Violation | undefined;
  readonly checked: () => ReadonlyMap<string, number>;
};

export const createChecker = (): Checker => {
  const checked = new Map<string, number>();
  let violation: Violation | undefined;
  return {
    expect: (invariant, holds, about, detail) => {
      checked.set(invariant, (checked.get(invariant) ?? 0) + 1);
      // Later violations may only follow from the first.
      if (!holds) violation ??= { invariant, about, detail: detail() };
    },
    violation: () => violation,
    checked: () => checked,
  };
};
