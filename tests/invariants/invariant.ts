/**
 * Called for each fact that an invariant checks. `about` is the task, or the aggregate, that the fact belongs to.
 * `detail` is called only when the invariant is violated.
 */
export type Expect = (invariant: string, holds: boolean, about: string, detail: () => string) => void;

/** An event as the store has it: fed to invariants in the order of commits. */
export type Committed<Event> = {
  readonly aggregate: string;
  readonly version: number;
  /** Epoch milliseconds, by the store's clock. */
  readonly at: number;
  readonly event: Event;
};

/** The state of one aggregate that an invariant keeps between two events. */
export const memoryOf = <State>(initial: () => State): ((aggregate: string) => State) => {
  const states = new Map<string, State>();
  return (aggregate) => {
    const known = states.get(aggregate) ?? initial();
    states.set(aggregate, known);
    return known;
  };
};
