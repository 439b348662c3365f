/** Where the rows are. Put yours in its place. */
export type Store = {
  /** A change of it is another version of the workflow: no hash can see what is behind these functions. */
  readonly version: string;
  readonly count: (table: string) => Promise<number>;
  /** Makes what is to be written of the rows from `from` on, up to `to`, and changes nothing. */
  readonly transform: (table: string, from: number, to: number) => Promise<string>;
};

/** Stands in for a database: every table has a thousand rows. */
export const standIn: Store = {
  version: 'stand-in-1',
  count: () => Promise.resolve(1_000),
  transform: (table, from, to) =>
    Promise.resolve(`${table} ${String(from)} to ${String(to)}, in the new form`),
};
