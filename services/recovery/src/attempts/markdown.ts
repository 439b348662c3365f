/** The text on one line, with Markdown characters escaped. */
export const oneLine = (text: string, max: number): string => {
  const line = text.replace(/\s+/g, ' ').trim();
  const cut = line.length <= max ? line : `${line.slice(0, max).toWellFormed()}…`;
  return cut.replace(/[\\`*_[\]<>|#]/g, (sign) => `\\${sign}`);
};

/** The text in a code block whose fence is longer than any in it. */
export const fenced = (text: string): string => {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}text\n${text.trimEnd()}\n${fence}`;
};
