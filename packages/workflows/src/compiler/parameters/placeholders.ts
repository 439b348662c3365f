/** A piece of text, a placeholder, or a syntax error in one. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'name'; readonly name: string; readonly text: string }
  | { readonly kind: 'unclosed'; readonly text: string };

/** A secret stays a name: only the executor knows its value, and fills it in where it is used. */
const isSecret = (name: string): boolean => name.startsWith('secret:');

/**
 * Splits a text: `${name}` is a placeholder; `$${` stands for the characters `${`, for shell variables.
 * `${secret:NAME}` stays as it is. Substituted values are not scanned again.
 */
export const piecesOf = (text: string): readonly Piece[] => {
  const pieces: Piece[] = [];
  const plain = (from: number, to: number): void => {
    if (to > from) pieces.push({ kind: 'text', text: text.slice(from, to) });
  };
  let from = 0;
  for (let open = text.indexOf('${'); open >= 0; open = text.indexOf('${', from)) {
    if (open > from && text[open - 1] === '$') {
      plain(from, open - 1);
      pieces.push({ kind: 'text', text: '${' });
      from = open + 2;
      continue;
    }
    plain(from, open);
    const close = text.indexOf('}', open);
    if (close < 0) return [...pieces, { kind: 'unclosed', text: text.slice(open) }];
    const name = text.slice(open + 2, close).trim();
    const written = text.slice(open, close + 1);
    pieces.push(isSecret(name) ? { kind: 'text', text: written } : { kind: 'name', name, text: written });
    from = close + 1;
  }
  plain(from, text.length);
  return pieces;
};

export const namesIn = (text: string): readonly string[] =>
  piecesOf(text).flatMap((piece) => (piece.kind === 'name' ? [piece.name] : []));
