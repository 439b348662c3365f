/**
 * Characters that a browser would interpret instead of showing: controls, bidirectional marks, separators, lone
 * surrogates and invisible characters. Users who decide on a text must see every character.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
const RUN = new RegExp(`${UNSAFE.source}+`, 'gu');

/** A part of a text, or the name of an invisible character. */
export type Piece = { readonly text: string } | { readonly mark: string };

const nameOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** Splits a text with several lines: line ends and tabs stay, other invisible characters are named. */
export const piecesOf = (text: string): readonly Piece[] => {
  const pieces: Piece[] = [];
  let plain = '';
  const flush = (): void => {
    if (plain !== '') pieces.push({ text: plain });
    plain = '';
  };
  let at = 0;
  for (const match of text.matchAll(RUN)) {
    plain += text.slice(at, match.index);
    at = match.index + match[0].length;
    const characters = Array.from(match[0]);
    for (const [i, character] of characters.entries()) {
      if (character === '\r' && characters[i + 1] === '\n') continue;
      if (character === '\n' || character === '\t') plain += character;
      else {
        flush();
        pieces.push({ mark: nameOf(character) });
      }
    }
  }
  plain += text.slice(at);
  flush();
  return pieces;
};

/** The same as plain text, for attributes. */
export const visible = (text: string): string =>
  piecesOf(text)
    .map((piece) => ('text' in piece ? piece.text : `[${piece.mark}]`))
    .join('');

/** The first part of a text: never half a character, and at most this many lines. */
export const excerpt = (
  text: string,
  { characters, lines }: { readonly characters: number; readonly lines: number },
): { readonly shown: string; readonly left: number } => {
  let end = Math.min(text.length, characters);
  let line = 0;
  for (let at = text.indexOf('\n'); at >= 0 && at < end; at = text.indexOf('\n', at + 1)) {
    line += 1;
    if (line === lines) end = at;
  }
  const code = text.charCodeAt(end - 1);
  if (end < text.length && code >= 0xd800 && code <= 0xdbff) end -= 1;
  return { shown: text.slice(0, end), left: text.length - end };
};
