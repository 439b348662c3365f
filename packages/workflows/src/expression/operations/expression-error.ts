import { nearestName } from '../../problems/problem.ts';

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

/** Says which expression it was that failed. */
export const withExpression = <Result>(text: string, work: () => Result): Result => {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof ExpressionError)) throw cause;
    throw new ExpressionError(`the expression ${quoted(text)}: ${cause.message}`, { cause });
  }
};

const LISTED_MAX = 40;

const listed = (names: readonly string[]): string =>
  names.length > LISTED_MAX ? `${names.slice(0, LISTED_MAX).join(', ')}, …` : names.join(', ');

/** Says that a name stands for nothing, and what it could have been. */
export const failUnknown = (what: string, name: string, known: Iterable<string>): never => {
  const names = [...known].sort();
  const nearest = nearestName(name, names);
  return fail(
    `there is no ${what} ${quoted(name)}: ${nearest === undefined ? `there are ${listed(names)}` : `did you mean ${quoted(nearest)}?`}`,
  );
};
