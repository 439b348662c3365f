/** An expression that cannot be read, or that came to nothing. The text is for the person who wrote it. */
export class ExpressionError extends Error {
  readonly code = 'WORKFLOW_EXPRESSION';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ExpressionError';
  }
}

export const fail = (message: string): never => {
  throw new ExpressionError(message);
};

/** A piece of what somebody wrote, short enough to stand in a sentence. */
export const quoted = (text: string): string =>
  JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);
