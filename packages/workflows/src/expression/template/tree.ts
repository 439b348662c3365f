import { fail, failUnknown, quoted, withExpression } from '../operations/expression-error.ts';
import { parseExpression } from '../syntax/parse.ts';
import { memoize } from '../syntax/memoize.ts';
import { piecesOf, type Piece } from './pieces.ts';
import { isWord } from '../syntax/translate.ts';
import type { Expression } from '../syntax/tree.ts';

/** An expression, and how it was written. */
export type SourceExpression = { readonly text: string; readonly tree: Expression };

/** What a template can consist of. Nothing here goes on for longer than the list that it goes through. */
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
      /** Only the members that this holds for. */
      readonly only: SourceExpression | undefined;
      readonly body: Body;
      readonly otherwise: Body | undefined;
    }
  | { readonly kind: 'set'; readonly name: string; readonly value: SourceExpression }
  | { readonly kind: 'capture'; readonly name: string; readonly body: Body };
export type Body = readonly Statement[];

/** What is deeper is nobody's template; whoever walks over a tree may call itself for each level. */
const LEVELS_MAX = 32;
/** Each may be as long as a text may. */
const CACHED_MAX = 50;

const STATEMENTS = ['if', 'for', 'set'] as const;
const INNER: ReadonlySet<string> = new Set(['elif', 'else', 'endif', 'endfor', 'endset']);

/** The pieces from some place on. */
type Cursor = { readonly pieces: readonly Piece[]; at: number };
type Tag = Extract<Piece, { kind: 'tag' }>;

const sourceExpression = (text: string): SourceExpression => ({
  text,
  tree: withExpression(text, () => parseExpression(text)),
});

const nameIn = (text: string): string => {
  const name = text.trim();
  if (!/^[A-Za-z_]\w*$/.test(name) || isWord(name) || name === 'loop')
    return fail(`${quoted(name)} can be no name`);
  return name;
};

const expectEmpty = ({ word, rest }: Tag): void => {
  if (rest !== '') fail(`nothing stands behind ${quoted(word)}, and this is ${quoted(rest)}`);
};

/** The statements up to a tag of these words; it is the next one then. */
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

/** What stands behind an `else`, if there is one, and the tag that ends it all. */
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

/** `y if z` behind `in` means the members of `y` that `z` holds for. */
const membersIn = (text: string): Pick<Extract<Statement, { kind: 'for' }>, 'of' | 'only'> => {
  const of = sourceExpression(text);
  if (of.tree.kind !== 'choice' || of.tree.no !== undefined) return { of, only: undefined };
  return { of: { text, tree: of.tree.yes }, only: { text, tree: of.tree.condition } };
};

const forOf = ({ rest }: Tag, cursor: Cursor, level: number): Statement => {
  const between = rest.search(/\sin\s/);
  if (between < 0) return fail(`a loop is written {% for x in list %}, and not with ${quoted(rest)}`);
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
        ? fail(`does not parse: {% ${tag.word} %} stands where nothing is open that it belongs to`)
        : failUnknown('statement', tag.word, STATEMENTS);
  }
};

/** The tree of a template. Throws `ExpressionError`. */
export const parseTemplate: (text: string) => Body = memoize(CACHED_MAX, (text) =>
  bodyUntil({ pieces: piecesOf(text), at: 0 }, [], 0),
);
