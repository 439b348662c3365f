/** Whoever writes the first draft of an answer. Put a model behind it. */
export type Writer = {
  /** A change of it is another version of the workflow: no hash can see what is behind these functions. */
  readonly version: string;
  readonly write: (question: string, wishes: readonly string[], signal: AbortSignal) => Promise<string>;
};

/** Stands in for a model, without any network. */
export const standIn: Writer = {
  version: 'stand-in-1',
  write: (question, wishes) =>
    Promise.resolve([`Thank you for asking: ${question}`, ...wishes.map((wish) => `(${wish})`)].join(' ')),
};
