/** The monotonic clock of a process. Stored times use the database's clock instead. */
export interface Clock {
  /** Milliseconds since an arbitrary moment. */
  now(): number;
  /** `after` and `every` return a function that cancels the step. */
  after(ms: number, step: () => void): () => void;
  every(ms: number, step: () => void): () => void;
}
