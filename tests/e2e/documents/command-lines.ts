import { marked, type Token } from 'marked';

/** A command as a document has it. */
export type Documented = {
  readonly file: string;
  /** Without its comment. */
  readonly line: string;
  /** As a shell would hand them over; a placeholder stays what it is: `<task>`, and `<PWD>` for `$PWD`. */
  readonly words: readonly string[];
};

const SHELLS: ReadonlySet<string> = new Set(['sh', 'bash', 'shell', 'console', 'zsh']);
/** Code in a sentence that is meant to be typed. */
const TYPED = /^(npm|npx|pnpm|node|nats|nats-server|docker|holdpoint|curl|psql) \S/;

// In quotes, or plain. A document has to do without whatever else a shell knows, or quote it: `>` and `*` above all.
const PIECE = /'([^']*)'|"((?:[^"\\$`]|\$PWD\b)*)"|([\w./:=@,+%-]|<[a-z]+>|\$PWD\b)/g;
const WORD = new RegExp(`^(?:${PIECE.source})+(?=\\s|$)`);

const unquoted = (word: string): string =>
  word.replaceAll(
    PIECE,
    (_, literal?: string, quoted = '', plain = '') =>
      literal ?? `${String(quoted)}${String(plain)}`.replaceAll('$PWD', '<PWD>'),
  );

/** One command line without its comment, and its words. Throws for what it cannot read. */
export const readLine = (text: string): Pick<Documented, 'line' | 'words'> => {
  const words: string[] = [];
  let rest = text;
  while (rest !== '' && !rest.startsWith('#')) {
    const word = WORD.exec(rest)?.[0];
    if (word === undefined) throw new Error(`cannot be read from here on: ${rest}`);
    words.push(unquoted(word));
    rest = rest.slice(word.length).trimStart();
  }
  return { line: text.slice(0, text.length - rest.length).trim(), words };
};

/** A backslash at the end of a line goes on with the next. */
const linesOf = (block: string): readonly string[] => block.replaceAll(/\\\n\s*/g, ' ').split('\n');

const isShell = (lang: unknown): boolean => typeof lang === 'string' && SHELLS.has(lang.split(' ')[0] ?? '');

const linesOfToken = (token: Token): readonly string[] => {
  if (token.type === 'code' && isShell(token['lang'])) return linesOf(String(token['text']));
  const text = token.type === 'codespan' ? String(token['text']) : '';
  return TYPED.test(text) ? [text] : [];
};

/** Every command of a document, in its order: the lines of its shell blocks, and what a sentence has one type. */
export const documentedIn = (file: string, markdown: string): readonly Documented[] => {
  const lines: string[] = [];
  void marked.walkTokens(marked.lexer(markdown), (token) => void lines.push(...linesOfToken(token)));
  return lines.flatMap((text) => {
    try {
      const { line, words } = readLine(text.trim());
      return words.length === 0 ? [] : [{ file, line, words }];
    } catch (error) {
      throw new Error(`${file}: ${text}`, { cause: error });
    }
  });
};
