import { marked, type Token } from 'marked';

/** A command in a document. */
export type Documented = {
  readonly file: string;
  /** The line without its comment. */
  readonly line: string;
  /** The words as a shell would pass them. A placeholder stays: `<task>`, and `<PWD>` for `$PWD`. */
  readonly words: readonly string[];
};

const SHELLS: ReadonlySet<string> = new Set(['sh', 'bash', 'shell', 'console', 'zsh']);
/** Inline code that a reader is meant to type. */
const TYPED = /^(npm|npx|pnpm|node|nats|nats-server|docker|holdpoint|curl|psql) \S/;

// A word is quoted or plain. A document must avoid or quote all other shell syntax, above all `>` and `*`.
const PIECE = /'([^']*)'|"((?:[^"\\$`]|\$PWD\b)*)"|([\w./:=@,+%-]|<[a-z]+>|\$PWD\b)/g;
const WORD = new RegExp(`^(?:${PIECE.source})+(?=\\s|$)`);

const unquoted = (word: string): string =>
  word.replaceAll(
    PIECE,
    (_, literal?: string, quoted = '', plain = '') =>
      literal ?? `${String(quoted)}${String(plain)}`.replaceAll('$PWD', '<PWD>'),
  );

/** Splits a command line without its comment into words. Throws on unreadable syntax. */
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

/** A backslash at the end of a line continues it on the next line. */
const linesOf = (block: string): readonly string[] => block.replaceAll(/\\\n\s*/g, ' ').split('\n');

/** A file for the output is no part of the command. */
const withoutOutput = (text: string): string => text.replace(/ > [\w./-]+(?= +#|$)/, '');

const isShell = (lang: unknown): boolean => typeof lang === 'string' && SHELLS.has(lang.split(' ')[0] ?? '');

const linesOfToken = (token: Token): readonly string[] => {
  if (token.type === 'code' && isShell(token['lang'])) return linesOf(String(token['text']));
  const text = token.type === 'codespan' ? String(token['text']) : '';
  return TYPED.test(text) ? [text] : [];
};

/**
 * Returns every command of a document in order: the lines of its shell blocks, and the commands in its
 * sentences.
 */
export const documentedIn = (file: string, markdown: string): readonly Documented[] => {
  const lines: string[] = [];
  void marked.walkTokens(marked.lexer(markdown), (token) => void lines.push(...linesOfToken(token)));
  return lines.flatMap((text) => {
    try {
      const { line, words } = readLine(withoutOutput(text.trim()));
      return words.length === 0 ? [] : [{ file, line, words }];
    } catch (error) {
      throw new Error(`${file}: ${text}`, { cause: error });
    }
  });
};
