import { piecesOf, type Piece } from './placeholders.ts';
import { listed, shown, type Report } from '../../problems/report.ts';

/** Where a text stands. */
export type TextLocation = { readonly path: string; readonly file: string };

export type Expander = {
  text(value: string, at: TextLocation): string;
  /** Every name that was asked for, whether it has a value or not. */
  readonly used: ReadonlySet<string>;
};

/** All expanded texts together: a large value in many places is a mistake, and must not become one of memory. */
const EXPANDED_MAX = 16 * 1_048_576;

const LITERAL = 'a parameter of the template (a literal is written $${…})';

/** Replaces each placeholder once, by the value of its parameter. */
export const createExpander = (values: ReadonlyMap<string, string>, report: Report): Expander => {
  const used = new Set<string>();
  let length = 0;
  const refuse = (kind: string, found: string, expected: string, at: TextLocation, name = ''): void => {
    report.error({
      code: `WORKFLOW_PLACEHOLDER_${kind}`,
      ...at,
      found,
      expected,
      ...(name !== '' && { meant: [name, values.keys()] as const }),
    });
  };
  const valueOf = (piece: Piece, at: TextLocation): string => {
    if (piece.kind === 'text') return piece.text;
    if (piece.kind === 'unclosed') {
      refuse('UNCLOSED', shown(piece.text), 'a closing }, or $${ for the characters themselves', at);
      return piece.text;
    }
    if (piece.name === '') {
      refuse('EMPTY', shown(piece.text), LITERAL, at);
      return piece.text;
    }
    used.add(piece.name);
    const value = values.get(piece.name);
    if (value === undefined)
      refuse('UNKNOWN', shown(piece.text), `${LITERAL}: ${listed(values.keys())}`, at, piece.name);
    return value ?? piece.text;
  };
  const text = (value: string, at: TextLocation): string => {
    if (!value.includes('${')) return value;
    let expanded = '';
    for (const piece of piecesOf(value)) {
      const next = valueOf(piece, at);
      length += next.length;
      if (length <= EXPANDED_MAX) expanded += next;
    }
    if (length > EXPANDED_MAX && length < Infinity) {
      length = Infinity;
      refuse('LARGE', 'texts that grow beyond all measure', `at most ${String(EXPANDED_MAX)} characters`, at);
    }
    return expanded;
  };
  return { text, used };
};
