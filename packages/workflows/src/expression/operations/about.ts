import { ExpressionError, quoted } from './expression-error.ts';

/** Says which expression it was that failed. */
export const about = <Result>(text: string, work: () => Result): Result => {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof ExpressionError)) throw cause;
    throw new ExpressionError(`the expression ${quoted(text)}: ${cause.message}`, { cause });
  }
};
