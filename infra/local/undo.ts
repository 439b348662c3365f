type End = () => Promise<unknown>;

export type Undo = {
  /** Adds a step that ends a part. */
  readonly add: (end: End) => void;
  /** Ends the latest parts first. Reports the parts that do not end after all others have ended. */
  readonly run: () => Promise<void>;
};

/** The steps that end a stack, in any state of its start. */
export const createUndo = (): Undo => {
  const ends: End[] = [];
  return {
    add: (end) => void ends.push(end),
    run: async () => {
      const problems: unknown[] = [];
      for (const end of ends.splice(0).toReversed())
        await end().catch((error: unknown) => problems.push(error));
      if (problems.length > 0) throw new AggregateError(problems, 'not everything could be stopped');
    },
  };
};
