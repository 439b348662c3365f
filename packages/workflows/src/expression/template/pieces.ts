import { endOfQuoted } from '../syntax/brackets.ts';
import { fail, quoted } from '../operations/expression-error.ts';
import { endOfExpression, TEXT_MAX } from '../syntax/text.ts';

/** A plain part, an expression, or a statement with its keyword and the rest. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'output'; readonly expression: string }
  | { readonly kind: 'tag'; readonly word: string; readonly rest: string };

const missing = (what: string, text: string, start: number): never =>
  fail(`does not parse: ${JSON.stringify(what)} is missing after ${quoted(text.slice(start - 2))}`);

/** The index of the `%}` that ends a statement, skipping quotes. */
const endOfTag = (text: string, start: number): number => {
  for (let at = start; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"' || char === "'") at = endOfQuoted(text, at) - 1;
    else if (char === '%' && text[at + 1] === '}') return at;
  }
  return missing('%}', text, start);
};

const endOfComment = (text: string, start: number): number => {
  const end = text.indexOf('#}', start);
  return end < 0 ? missing('#}', text, start) : end;
};

const END: Readonly<Record<string, (text: string, start: number) => number>> = {
  '{': endOfExpression,
  '%': endOfTag,
  '#': endOfComment,
};

const WORD = /^[A-Za-z_]\w*/;

const tag = (inner: string): Piece => {
  const text = inner.trim();
  const word = WORD.exec(text)?.[0] ?? fail(`a statement begins with a keyword, not with ${quoted(text)}`);
  return { kind: 'tag', word, rest: text.slice(word.length).trim() };
};

const pieceOf = (mark: string, inner: string): readonly Piece[] => {
  if (mark === '#') return [];
  return [mark === '%' ? tag(inner) : { kind: 'output', expression: inner }];
};

const plain = (text: string, { start, end }: { start: boolean; end: boolean }): readonly Piece[] => {
  const cut = start ? text.trimStart() : text;
  const kept = end ? cut.trimEnd() : cut;
  return kept === '' ? [] : [{ kind: 'text', text: kept }];
};

/**
 * Splits a template and drops its comments. A `-` beside a bracket removes the white space on that side, as
 * in Jinja.
 */
export const piecesOf = (text: string): readonly Piece[] => {
  if (text.length > TEXT_MAX)
    return fail(`is ${String(text.length)} characters long; the limit is ${String(TEXT_MAX)}`);
  const pieces: Piece[] = [];
  const opening = /\{[{%#]/g;
  let from = 0;
  let strips = false;
  for (let open = opening.exec(text); open !== null; open = opening.exec(text)) {
    const [bracket] = open;
    const mark = bracket.charAt(1);
    const before = text[open.index + 2] === '-';
    const start = open.index + (before ? 3 : 2);
    const close = (END[mark] ?? endOfComment)(text, start);
    const after = close > start && text[close - 1] === '-';
    pieces.push(
      ...plain(text.slice(from, open.index), { start: strips, end: before }),
      ...pieceOf(mark, text.slice(start, after ? close - 1 : close)),
    );
    from = close + 2;
    strips = after;
    opening.lastIndex = from;
  }
  return [...pieces, ...plain(text.slice(from), { start: strips, end: false })];
};
