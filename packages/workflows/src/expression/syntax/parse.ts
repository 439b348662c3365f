import * as library from '@huggingface/jinja';
import { checkBrackets } from './brackets.ts';
import { ExpressionError, fail } from '../operations/expression-error.ts';
import { memoize } from './memoize.ts';
import { translate } from './translate.ts';
import type { Expression } from './tree.ts';

export const EXPRESSION_MAX = 2_000;
const CACHED_MAX = 1_000;

/** Only the library's parser is used, none of its evaluation. Its result is checked node by node. */
const jinja: {
  tokenize(source: string): readonly unknown[];
  parse(tokens: readonly unknown[]): { readonly body: unknown };
} = library;

const readable = (error: unknown): string =>
  // On incomplete input the parser runs past the end and throws a TypeError.
  error instanceof Error && !(error instanceof TypeError)
    ? error.message.replace(/^Parser Error: /, '')
    : 'unexpected end';

const jinjaOf = (text: string): unknown => {
  try {
    return jinja.parse(jinja.tokenize(`{{ ${text} }}`)).body;
  } catch (cause) {
    throw new ExpressionError(`does not parse: ${readable(cause)}`, { cause });
  }
};

const read = (text: string): Expression => {
  if (text.length > EXPRESSION_MAX) {
    return fail(`is ${String(text.length)} characters long; the limit is ${String(EXPRESSION_MAX)}`);
  }
  if (text.trim() === '') return fail('is empty');
  if (text.includes('{%')) return fail('statements ({% … %}) are not supported, only expressions');
  checkBrackets(text);
  const body = jinjaOf(text);
  if (!Array.isArray(body) || body.length !== 1) return fail('is not a single expression');
  return translate(body[0]);
};

/** Parses an expression. Throws `ExpressionError`. */
export const parseExpression: (text: string) => Expression = memoize(CACHED_MAX, read);
