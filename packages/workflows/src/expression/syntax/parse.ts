import * as library from '@huggingface/jinja';
import { checkBrackets } from './brackets.ts';
import { ExpressionError, fail } from '../operations/expression-error.ts';
import { memoize } from './memoize.ts';
import { translate } from './translate.ts';
import type { Expression } from './tree.ts';

export const EXPRESSION_MAX = 2_000;
const CACHED_MAX = 1_000;

/** What is used of the library: its parser, and nothing that evaluates. What it gives is looked at piece by piece. */
const jinja: {
  tokenize(source: string): readonly unknown[];
  parse(tokens: readonly unknown[]): { readonly body: unknown };
} = library;

const readable = (error: unknown): string =>
  // The parser runs past the end of what is not complete.
  error instanceof Error && !(error instanceof TypeError)
    ? error.message.replace(/^Parser Error: /, '')
    : 'it ends too early';

/** One expression of Jinja, in the words of its own parser. */
const jinjaOf = (text: string): unknown => {
  try {
    return jinja.parse(jinja.tokenize(`{{ ${text} }}`)).body;
  } catch (cause) {
    throw new ExpressionError(`does not parse: ${readable(cause)}`, { cause });
  }
};

const read = (text: string): Expression => {
  if (text.length > EXPRESSION_MAX) {
    return fail(`is ${String(text.length)} characters long, and may be ${String(EXPRESSION_MAX)}`);
  }
  if (text.trim() === '') return fail('is empty');
  if (text.includes('{%')) return fail('statements ({% … %}) are not supported, only expressions');
  checkBrackets(text);
  const body = jinjaOf(text);
  if (!Array.isArray(body) || body.length !== 1) return fail('is not one single expression');
  return translate(body[0]);
};

/** The tree of an expression. Throws `ExpressionError`. */
export const parseExpression: (text: string) => Expression = memoize(CACHED_MAX, read);
