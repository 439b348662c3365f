/** Writes the first draft of an answer. Put a model behind it. */
export type Writer = {
  /**
   * Change it together with these functions, to get a new version of the workflow: a hash cannot see their
   * code.
   */
  readonly version: string;
  readonly write: (question: string, wishes: readonly string[], signal: AbortSignal) => Promise<string>;
};

/** A stand-in for a model, without network. */
export const standIn: Writer = {
  version: 'stand-in-1',
  write: (question, wishes) =>
    Promise.resolve([`Thank you for asking: ${question}`, ...wishes.map((wish) => `(${wish})`)].join(' ')),
};
