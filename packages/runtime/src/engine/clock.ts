/** Time as a process has it: it only goes forward, and nobody can set it. What is stored uses the database's clock instead. */
export interface Clock {
  /** Milliseconds since some moment. */
  now(): number;
  /** Both return what calls the step off. */
  after(ms: number, step: () => void): () => void;
  every(ms: number, step: () => void): () => void;
}
