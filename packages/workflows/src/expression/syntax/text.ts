import { endOfQuoted } from './brackets.ts';
import { fail, quoted } from '../operations/expression-error.ts';

export const TEXT_MAX = 65_536;

/** A text is plain parts and expressions. */
export type Part = { readonly plain: string } | { readonly expression: string };

/** Where the `}}` stands that ends an expression: not inside of quotes, nor of an object that is written in it. */
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
    return fail(`statements ({% … %}) are not supported: write {{ '{' }}% where the text is meant`);
  }
  return { plain: text };
};

const expression = (text: string): Part => {
  // It would read as a sign.
  if (/^-|-$/.test(text)) return fail('white space control ({{- … -}}) is not supported');
  return { expression: text };
};

/**
 * The parts of a text. It is taken apart here and not by the library, which changes white space, and takes the `{#` of a
 * shell script for a comment.
 */
export const partsOf = (text: string): readonly Part[] => {
  if (text.length > TEXT_MAX) {
    return fail(`is ${String(text.length)} characters long, and may be ${String(TEXT_MAX)}`);
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
