/**
 * What would be acted upon or not be seen at all: controls, characters that turn the direction of text around, separators,
 * halves of characters, blanks that are none. Whoever decides has to see every character that there is.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;

/** What Discord's markup is made of. With a backslash before it each of them is only itself. */
const MARKUP = /[\\`*_~|<>[\]()#+\-=@:]/;

const shown = (character: string): string =>
  UNSEEN.test(character)
    ? `\\\\u\\{${(character.codePointAt(0) ?? 0).toString(16)}\\}`
    : MARKUP.test(character)
      ? `\\${character}`
      : character;

/** A number with a point at the beginning of a line would be counted anew. */
const plainNumber = (line: string): string => line.replace(/^( *\d+)\.(?= |$)/, '$1\\.');

/** As many of the pieces as fit, with the note when it is not all of them. */
const fitting = (pieces: Iterable<string>, max: number, note: string): string => {
  let text = '';
  // As far as it may come where the note has to follow.
  let kept = '';
  for (const piece of pieces) {
    if (text.length + piece.length > max) return `${kept}${note}`;
    text += piece;
    if (text.length + note.length <= max) kept = text;
  }
  return text;
};

/** Where all of it can be seen, for what is cut. */
export const seeAllBy = (command: string): string => ` … (cut; all of it: \`${command}\`)`;
export const seeAll = (id: string): string => seeAllBy(`holdpoint approvals show ${id}`);

/**
 * Untrusted text as one line of Discord's markup that shows exactly its characters: no mention, no link, no formatting.
 * UTF-16 units at the most; a text of blanks alone, which Discord would refuse, is shown as what it is.
 */
export const inline = (text: string, max: number, note = ' …'): string => {
  if (text === '') return '(empty)';
  const pieces = text.trim() === '' ? Array.from(text, () => '\\\\u\\{20\\}') : Array.from(text, shown);
  return plainNumber(fitting(pieces, max - 1, note));
};

const seen = (character: string): string =>
  UNSEEN.test(character) ? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}` : character;

/** Untrusted text for where Discord knows no markup: on a button, or in a form. */
export const plain = (text: string, max: number): string =>
  text.trim() === '' ? '(blank)' : fitting(Array.from(text, seen), max, ' …');

const quotedPieces = function* (text: string): Generator<string> {
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    yield `${index === 0 ? '' : '\n'}> `;
    const number = /^ *\d+\.(?= |$)/.exec(line)?.[0] ?? '';
    if (number !== '') yield plainNumber(number);
    for (const character of line.slice(number.length)) yield shown(character);
  }
};

/** Untrusted text of several lines as a quotation: none of them can pass for one of ours. */
export const quoted = (text: string, max: number, note: string): string =>
  fitting(quotedPieces(text), max, note);

const jsonEscaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('');

/** A value as a block of JSON that nothing in it can end, every character in sight. */
export const jsonBlock = (value: unknown, max: number, note: string): string => {
  const pieces = Array.from(JSON.stringify(value, undefined, 2), (character) =>
    character !== '\n' && (character === '`' || UNSEEN.test(character)) ? jsonEscaped(character) : character,
  );
  const [open, end] = ['```json\n', '\n```'];
  const whole = pieces.join('');
  if (open.length + whole.length + end.length <= max) return `${open}${whole}${end}`;
  const kept = fitting(pieces, max - open.length - end.length - note.length, '');
  return `${open}${kept}${end}${note}`;
};

/** A moment as each reader's own clock shows it. Epoch milliseconds. */
export const moment = (at: number, style: 'R' | 'f'): string =>
  `<t:${String(Math.floor(at / 1_000))}:${style}>`;
