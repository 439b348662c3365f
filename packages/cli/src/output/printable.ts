/**
 * Characters that change the terminal instead of being shown: controls, bidirectional marks, line separators and lone
 * surrogates. Invisible characters are included: approvers must see every character, at the price of some emoji.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

const visible = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** Escapes untrusted text to one line that shows every character. */
export const printable = (text: string): string => text.replaceAll(UNSAFE, visible);

/** Escapes text with several lines. */
export const printableLines = (text: string): readonly string[] =>
  text.split(/\r?\n/).map((line) => printable(line));

/** The text of Markdown lines: without the escapes and the stars of bold text. */
export const withoutMarkdown = (line: string): string =>
  line.replaceAll('**', '').replace(/\\([!-/:-@[-`{-~])/g, '$1');

const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('');

/** JSON on one line, with the same characters escaped. */
export const printableJson = (value: unknown): string => JSON.stringify(value).replaceAll(UNSAFE, escaped);
