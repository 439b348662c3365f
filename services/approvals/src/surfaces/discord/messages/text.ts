/**
 * Characters that are invisible or change how text is displayed: controls, direction marks, separators, lone
 * surrogates, unusual blanks. An approver has to see every character.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;

/** Characters with a meaning in Discord's markup. A backslash disables it. */
const MARKUP = /[\\`*_~|<>[\]()#+\-=@:]/;

const shown = (character: string): string =>
  UNSEEN.test(character)
    ? `\\\\u\\{${(character.codePointAt(0) ?? 0).toString(16)}\\}`
    : MARKUP.test(character)
      ? `\\${character}`
      : character;

/** Markup would renumber a number with a point at the start of a line. */
const plainNumber = (line: string): string => line.replace(/^( *\d+)\.(?= |$)/, '$1\\.');

/** As many pieces as fit, with the note when there are more. */
const fitting = (pieces: Iterable<string>, max: number, note: string): string => {
  let text = '';
  // The longest text that still leaves room for the note.
  let kept = '';
  for (const piece of pieces) {
    if (text.length + piece.length > max) return `${kept}${note}`;
    text += piece;
    if (text.length + note.length <= max) kept = text;
  }
  return text;
};

/** A note for cut text, with the command that shows all of it. */
export const seeAllBy = (command: string): string => ` … (cut; all of it: \`${command}\`)`;
export const seeAll = (id: string): string => seeAllBy(`holdpoint approval show ${id}`);

/**
 * Untrusted text as one line of Discord markup that shows exactly its characters, without mentions, links or
 * formatting. `max` is in UTF-16 units. Discord refuses blank text, so blanks are escaped.
 */
export const inline = (text: string, max: number, note = ' …'): string => {
  if (text === '') return '(empty)';
  const pieces = text.trim() === '' ? Array.from(text, () => '\\\\u\\{20\\}') : Array.from(text, shown);
  return plainNumber(fitting(pieces, max - 1, note));
};

const seen = (character: string): string =>
  UNSEEN.test(character) ? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}` : character;

/** Untrusted text for labels of buttons and forms, which have no markup. */
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

/** Untrusted text of several lines as a quotation, so that no line can pass for one of Holdpoint's. */
export const quoted = (text: string, max: number, note: string): string =>
  fitting(quotedPieces(text), max, note);

const jsonEscaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('');

/** A value as a JSON block. Its content cannot end the block or hide characters. */
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

/** A time in each reader's own zone. Epoch milliseconds. */
export const moment = (at: number, style: 'R' | 'f'): string =>
  `<t:${String(Math.floor(at / 1_000))}:${style}>`;
