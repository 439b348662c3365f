import { fail } from '../operations/expression-error.ts';

/** The parser calls itself for each: deeper than this it is nobody's expression. */
const NESTED_MAX = 32;

const CLOSES: ReadonlyMap<string, string> = new Map([
  ['(', ')'],
  ['[', ']'],
  ['{', '}'],
]);
const CLOSING: ReadonlySet<string> = new Set(CLOSES.values());

/** The place behind a text in quotes that begins at `start`. */
export const endOfQuoted = (text: string, start: number): number => {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === text[start]) return at + 1;
  }
  return text.length;
};

/** Whether brackets are paired, and not too many of them inside one another: seen before anything recursive reads them. */
export const checkBrackets = (text: string): void => {
  const open: string[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    const closing = CLOSES.get(char);
    if (char === '"' || char === "'") {
      at = endOfQuoted(text, at) - 1;
    } else if (closing !== undefined) {
      if (open.push(closing) > NESTED_MAX) fail(`is nested more than ${String(NESTED_MAX)} levels deep`);
    } else if (CLOSING.has(char) && open.pop() !== char) {
      fail(`does not parse: ${JSON.stringify(char)} closes nothing`);
    }
  }
  const missing = open.at(-1);
  if (missing !== undefined) fail(`does not parse: ${JSON.stringify(missing)} is missing`);
};
