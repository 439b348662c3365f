type ErrorFields = {
  readonly error: string;
  readonly code?: string;
  readonly reason?: string;
  readonly stack?: string;
};

/**
 * What of an error goes into a log: class, code, text and the head of the stack. The text of an error of the database is
 * left out, because it may carry the values of a statement.
 */
export const errorFields = (error: unknown): ErrorFields => {
  if (!(error instanceof Error)) return { error: typeof error };
  const fromDatabase = 'severity' in error;
  return {
    error: error.name,
    ...('code' in error && { code: String(error.code) }),
    ...(!fromDatabase && { reason: error.message }),
    ...(error.stack !== undefined && { stack: error.stack.split('\n').slice(1, 4).join('\n') }),
    ...(error.cause instanceof Error && { cause: errorFields(error.cause) }),
  };
};
