/** The interface of the database. Put yours here. */
export type Store = {
  /**
   * Change it together with these functions, to get a new version of the workflow: a hash cannot see their
   * code.
   */
  readonly version: string;
  readonly count: (table: string) => Promise<number>;
  /** Transforms the rows from `from` (inclusive) to `to` (exclusive) without changing anything. */
  readonly transform: (table: string, from: number, to: number) => Promise<string>;
};

/** A stand-in for a database: every table has a thousand rows. */
export const standIn: Store = {
  version: 'stand-in-1',
  count: () => Promise.resolve(1_000),
  transform: (table, from, to) =>
    Promise.resolve(`${table} ${String(from)} to ${String(to)}, in the new form`),
};
