import { endOfQuoted } from './brackets.ts';
import { fail, quoted } from '../operations/expression-error.ts';

export const TEXT_MAX = 65_536;

export type Part = { readonly plain: string } | { readonly expression: string };

/** The index of the `}}` that ends an expression, skipping quotes and object literals. */
export const endOfExpression = (text: string, start: number): number => {
  let open = 0;
  for (let at = start; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"' || char === "'") at = endOfQuoted(text, at) - 1;
    else if (char === '{') open += 1;
    else if (char === '}' && open > 0) open -= 1;
    else if (char === '}' && text[at + 1] === '}') return at;
  }
  return fail(`does not parse: "}}" is missing after ${quoted(text.slice(start - 2))}`);
};

const plain = (text: string): Part => {
  if (text.includes('{%')) {
    return fail(`statements ({% … %}) are not supported: write {{ '{' }}% for the plain text`);
  }
  return { plain: text };
};

const expression = (text: string): Part => {
  // A dash would read as a sign.
  if (/^-|-$/.test(text)) return fail('white space control ({{- … -}}) is not supported');
  return { expression: text };
};

/**
 * Splits a text into plain parts and expressions. The library's tokenizer is not used here: it changes white
 * space, and takes `{#` in a shell script for a comment.
 */
export const partsOf = (text: string): readonly Part[] => {
  if (text.length > TEXT_MAX) {
    return fail(`is ${String(text.length)} characters long; the limit is ${String(TEXT_MAX)}`);
  }
  const parts: Part[] = [];
  let from = 0;
  for (let open = text.indexOf('{{'); open >= 0; open = text.indexOf('{{', from)) {
    const close = endOfExpression(text, open + 2);
    parts.push(plain(text.slice(from, open)), expression(text.slice(open + 2, close)));
    from = close + 2;
  }
  return [...parts, plain(text.slice(from))];
};
