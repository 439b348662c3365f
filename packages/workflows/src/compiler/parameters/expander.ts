import { piecesOf, type Piece } from './placeholders.ts';
import { listed, shown, type Report } from '../../problems/report.ts';

export type TextLocation = { readonly path: string; readonly file: string };

export type Expander = {
  text(value: string, at: TextLocation): string;
  /** Every parameter name that a text uses, with or without a value. */
  readonly used: ReadonlySet<string>;
};

/** Limits all expanded texts together: a large value in many places must not exhaust the memory. */
const EXPANDED_MAX = 16 * 1_048_576;

const LITERAL = 'a parameter of the template (a literal is written $${…})';

/** Replaces each placeholder once with the value of its parameter. */
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
      refuse('UNCLOSED', shown(piece.text), 'a closing }, or $${ for a literal ${', at);
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
      refuse('LARGE', 'expanded texts that are too long', `at most ${String(EXPANDED_MAX)} characters`, at);
    }
    return expanded;
  };
  return { text, used };
};
