import { dirname, join } from 'node:path/posix';
import GithubSlugger from 'github-slugger';
import { marked, type Token, type Tokens } from 'marked';

type Kinds = {
  readonly link: Tokens.Link;
  readonly image: Tokens.Image;
  readonly heading: Tokens.Heading;
  readonly table: Tokens.Table;
};

const tokensOf = <Kind extends keyof Kinds>(markdown: string, kind: Kind): readonly Kinds[Kind][] => {
  const found: Kinds[Kind][] = [];
  // The result is only of use to walkers that are asynchronous.
  void marked.walkTokens(marked.lexer(markdown), (token: Token) => {
    if (token.type === kind) found.push(token as Kinds[Kind]);
  });
  return found;
};

/** The tables of a document, outermost first. */
export const tablesOf = (markdown: string): readonly Tokens.Table[] => tokensOf(markdown, 'table');

const anchorsOf = (markdown: string): ReadonlySet<string> => {
  const slugger = new GithubSlugger();
  return new Set(tokensOf(markdown, 'heading').map(({ text }) => slugger.slug(text)));
};

/** How the check sees the repository: the text of a Markdown file, and whether anything is at a path. */
export type Documents = {
  readonly read: (path: string) => string;
  readonly exists: (path: string) => boolean;
};

const isElsewhere = (href: string): boolean => /^([a-z][a-z0-9+.-]*:|\/\/)/i.test(href);

/** Every relative link of one document that leads nowhere, with the reason. */
export const brokenLinks = (path: string, documents: Documents): readonly string[] => {
  const markdown = documents.read(path);
  const links = [...tokensOf(markdown, 'link'), ...tokensOf(markdown, 'image')].map(({ href }) => href);
  return links
    .filter((href) => !isElsewhere(href))
    .flatMap((href) => {
      const [file = '', anchor] = decodeURI(href).split('#');
      const target = file === '' ? path : join(dirname(path), file);
      if (target.startsWith('..') || file.startsWith('/'))
        return [`${path}: ${href} leads out of the repository`];
      if (!documents.exists(target)) return [`${path}: ${href} leads nowhere`];
      if (anchor === undefined || !target.endsWith('.md')) return [];
      return anchorsOf(documents.read(target)).has(anchor)
        ? []
        : [`${path}: ${href} names no heading of ${target}`];
    });
};

/** A promise of the system and a test that holds it. */
export type Guarantee = { readonly row: string; readonly file: string; readonly title: string };

const PROOF = /`(?<file>[^`]+(?:\.test\.ts|\/test_\w+\.py))`\s*›\s*`(?<title>[^`]+)`/gu;

/** The tests that a table's last column names; a row that names none is a problem, and so is a document without rows. */
export const guaranteesIn = (
  markdown: string,
): { readonly guarantees: readonly Guarantee[]; readonly problems: readonly string[] } => {
  const rows = tablesOf(markdown).flatMap(({ rows }) => rows);
  const guarantees = rows.flatMap((cells) => {
    const row = cells[0]?.text ?? '';
    return [...(cells.at(-1)?.text ?? '').matchAll(PROOF)].map(({ groups }) => ({
      row,
      file: groups?.['file'] ?? '',
      title: groups?.['title'] ?? '',
    }));
  });
  const unproven = rows
    .map((cells) => cells[0]?.text ?? '')
    .filter((row) => !guarantees.some((proof) => proof.row === row));
  return {
    guarantees,
    problems:
      rows.length === 0
        ? ['there is no table of guarantees']
        : unproven.map((row) => `"${row}" names no test`),
  };
};

/** Every named test that does not exist. `titlesOf` gives the titles of the tests that a file runs; undefined: no such file. */
export const missingTests = (
  guarantees: readonly Guarantee[],
  titlesOf: (file: string) => readonly string[] | undefined,
): readonly string[] =>
  guarantees.flatMap(({ row, file, title }) => {
    const titles = titlesOf(file);
    if (titles === undefined) return [`"${row}": there is no ${file}`];
    return titles.includes(title) ? [] : [`"${row}": ${file} runs no test called "${title}"`];
  });
