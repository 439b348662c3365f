import { nearestName } from '../../problems/problem.ts';

/** An expression cannot be parsed or evaluated. The message addresses its author. */
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

/** A part of the source, short enough for a message. */
export const quoted = (text: string): string =>
  JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);

/** Adds the text of the expression to its errors. */
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

/** Reports an unknown name with a suggestion. */
export const failUnknown = (what: string, name: string, known: Iterable<string>): never => {
  const names = [...known].sort();
  const nearest = nearestName(name, names);
  return fail(
    `there is no ${what} ${quoted(name)}: ${nearest === undefined ? `there are ${listed(names)}` : `did you mean ${quoted(nearest)}?`}`,
  );
};
