/**
 * What a terminal would act upon instead of showing: controls (escape sequences start with one), characters that turn
 * the direction of text around, separators that break lines, and halves of surrogate pairs. And what cannot be seen,
 * joiners and variation selectors among it: whoever approves an effect has to see all of it, at the price of some emoji.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

const visible = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** Untrusted text as one line that shows every character it has: nothing in it moves the cursor or lies about order. */
export const printable = (text: string): string => text.replaceAll(UNSAFE, visible);

/** The same for text of several lines; what looks like a line break is one. */
export const printableLines = (text: string): readonly string[] =>
  text.split(/\r?\n/).map((line) => printable(line));

const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('');

/** JSON of exactly this value, in one line, with the same characters escaped the way JSON has it. */
export const printableJson = (value: unknown): string => JSON.stringify(value).replaceAll(UNSAFE, escaped);
