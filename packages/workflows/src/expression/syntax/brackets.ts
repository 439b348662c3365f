import { fail } from '../operations/expression-error.ts';

/** The parser is recursive, so the nesting is limited. */
const NESTED_MAX = 32;

const CLOSES: ReadonlyMap<string, string> = new Map([
  ['(', ')'],
  ['[', ']'],
  ['{', '}'],
]);
const CLOSING: ReadonlySet<string> = new Set(CLOSES.values());

/** The index after a quoted text that begins at `start`. */
export const endOfQuoted = (text: string, start: number): number => {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === text[start]) return at + 1;
  }
  return text.length;
};

/** Checks that brackets are paired and not nested too deeply, before any recursive parser runs. */
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
