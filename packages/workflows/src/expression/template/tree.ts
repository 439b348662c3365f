import { fail, failUnknown, quoted, withExpression } from '../operations/expression-error.ts';
import { parseExpression } from '../syntax/parse.ts';
import { memoize } from '../syntax/memoize.ts';
import { piecesOf, type Piece } from './pieces.ts';
import { isWord } from '../syntax/translate.ts';
import type { Expression } from '../syntax/tree.ts';

/** An expression with its source text. */
export type SourceExpression = { readonly text: string; readonly tree: Expression };

/** The statements of a template. None runs longer than the list it iterates over. */
export type Statement =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'output'; readonly of: SourceExpression }
  | {
      readonly kind: 'if';
      readonly branches: readonly { readonly when: SourceExpression; readonly body: Body }[];
      readonly otherwise: Body | undefined;
    }
  | {
      readonly kind: 'for';
      readonly names: readonly string[];
      readonly of: SourceExpression;
      /** A filter on the members. */
      readonly only: SourceExpression | undefined;
      readonly body: Body;
      readonly otherwise: Body | undefined;
    }
  | { readonly kind: 'set'; readonly name: string; readonly value: SourceExpression }
  | { readonly kind: 'capture'; readonly name: string; readonly body: Body };
export type Body = readonly Statement[];

/** Recursive readers of the tree need a limit. */
const LEVELS_MAX = 32;
/** Each cached tree may be as large as a text may be. */
const CACHED_MAX = 50;

const STATEMENTS = ['if', 'for', 'set'] as const;
const INNER: ReadonlySet<string> = new Set(['elif', 'else', 'endif', 'endfor', 'endset']);

/** A position in the pieces. */
type Cursor = { readonly pieces: readonly Piece[]; at: number };
type Tag = Extract<Piece, { kind: 'tag' }>;

const sourceExpression = (text: string): SourceExpression => ({
  text,
  tree: withExpression(text, () => parseExpression(text)),
});

const nameIn = (text: string): string => {
  const name = text.trim();
  if (!/^[A-Za-z_]\w*$/.test(name) || isWord(name) || name === 'loop')
    return fail(`${quoted(name)} is not a valid name`);
  return name;
};

const expectEmpty = ({ word, rest }: Tag): void => {
  if (rest !== '') fail(`${quoted(word)} takes no argument, found ${quoted(rest)}`);
};

/** The statements up to a tag with one of these words; the cursor stops at that tag. */
const bodyUntil = (cursor: Cursor, words: readonly string[], level: number): Body => {
  const body: Statement[] = [];
  for (;;) {
    const piece = cursor.pieces[cursor.at];
    if (piece === undefined)
      return words.length === 0 ? body : fail(`{% ${words.at(-1) ?? ''} %} is missing`);
    if (piece.kind === 'tag' && words.includes(piece.word)) return body;
    cursor.at += 1;
    if (piece.kind === 'tag') body.push(statement(piece, cursor, level));
    else
      body.push(piece.kind === 'text' ? piece : { kind: 'output', of: sourceExpression(piece.expression) });
  }
};

const next = ({ pieces, at }: Cursor): Tag => {
  const piece = pieces[at];
  return piece?.kind === 'tag' ? piece : fail('a statement is missing');
};

/** Parses the `else` part, if any, and the closing tag. */
const endOf = (cursor: Cursor, end: string, level: number): Body | undefined => {
  let otherwise: Body | undefined;
  if (next(cursor).word === 'else') {
    expectEmpty(next(cursor));
    cursor.at += 1;
    otherwise = bodyUntil(cursor, [end], level);
  }
  expectEmpty(next(cursor));
  cursor.at += 1;
  return otherwise;
};

const ifOf = ({ rest }: Tag, cursor: Cursor, level: number): Statement => {
  const inner = ['elif', 'else', 'endif'];
  const branches = [{ when: sourceExpression(rest), body: bodyUntil(cursor, inner, level) }];
  for (let tag = next(cursor); tag.word === 'elif'; tag = next(cursor)) {
    cursor.at += 1;
    branches.push({ when: sourceExpression(tag.rest), body: bodyUntil(cursor, inner, level) });
  }
  return { kind: 'if', branches, otherwise: endOf(cursor, 'endif', level) };
};

/** `y if z` after `in` filters the members of `y` by `z`. */
const membersIn = (text: string): Pick<Extract<Statement, { kind: 'for' }>, 'of' | 'only'> => {
  const of = sourceExpression(text);
  if (of.tree.kind !== 'choice' || of.tree.no !== undefined) return { of, only: undefined };
  return { of: { text, tree: of.tree.yes }, only: { text, tree: of.tree.condition } };
};

const forOf = ({ rest }: Tag, cursor: Cursor, level: number): Statement => {
  const between = rest.search(/\sin\s/);
  if (between < 0) return fail(`write a loop as {% for x in list %}, not with ${quoted(rest)}`);
  const names = rest.slice(0, between).split(',').map(nameIn);
  const members = membersIn(rest.slice(between + 4));
  const body = bodyUntil(cursor, ['else', 'endfor'], level);
  return { kind: 'for', names, ...members, body, otherwise: endOf(cursor, 'endfor', level) };
};

const setOf = ({ rest }: Tag, cursor: Cursor, level: number): Statement => {
  const sign = rest.indexOf('=');
  if (sign >= 0)
    return { kind: 'set', name: nameIn(rest.slice(0, sign)), value: sourceExpression(rest.slice(sign + 1)) };
  const name = nameIn(rest);
  const body = bodyUntil(cursor, ['endset'], level);
  endOf(cursor, 'endset', level);
  return { kind: 'capture', name, body };
};

const statement = (tag: Tag, cursor: Cursor, above: number): Statement => {
  const level = above + 1;
  if (level > LEVELS_MAX) return fail(`has statements nested more than ${String(LEVELS_MAX)} levels deep`);
  switch (tag.word) {
    case 'if':
      return ifOf(tag, cursor, level);
    case 'for':
      return forOf(tag, cursor, level);
    case 'set':
      return setOf(tag, cursor, level);
    default:
      return INNER.has(tag.word)
        ? fail(`does not parse: {% ${tag.word} %} has no opening statement`)
        : failUnknown('statement', tag.word, STATEMENTS);
  }
};

/** Parses a template. Throws `ExpressionError`. */
export const parseTemplate: (text: string) => Body = memoize(CACHED_MAX, (text) =>
  bodyUntil({ pieces: piecesOf(text), at: 0 }, [], 0),
);
