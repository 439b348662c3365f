import { CST, Lexer, parseDocument, Parser } from 'yaml';
import { isClean, isSmall } from '../reading/parse.ts';
import type { Report } from '../problems/report.ts';

/** A gate is a page of text; what is larger is something else. */
export const GATE_BYTES_MAX = 262_144;
/** Levels of tables and lists inside one another. */
export const GATE_LEVELS_MAX = 32;
/** Pieces of syntax: to see that no key is there twice takes the square of their number. */
const PIECES_MAX = 20_000;
/** What the parser has open at once: each level takes one or two of these. */
const OPEN_MAX = 80;

/** What no gate needs: names for parts of a file, which repeat them, and types of one's own. */
const REFUSED: Readonly<Record<string, string>> = {
  anchor: 'an anchor (&)',
  alias: 'an alias (*)',
  tag: 'a tag (!)',
  'directive-line': 'a directive (%)',
};

type Place = { readonly line: number; readonly column: number };

const placeAt = (text: string, offset: number): Place => {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  return { line, column: offset - before.lastIndexOf('\n') };
};

/**
 * Whether a text may be read as a whole. The reader calls itself for each level, so they are counted before, by the part of it
 * that does not.
 */
const isPlain = (text: string, file: string, report: Report): boolean => {
  const parser = new Parser();
  const refuse = (found: string, expected: string, code = 'WORKFLOW_YAML_REFUSED'): void => {
    report.error({ code, path: '', found, expected, file, ...placeAt(text, parser.offset) });
  };
  let pieces = 0;
  let plain = true;
  let atScalar = false;
  for (const lexeme of new Lexer().lex(text)) {
    const type: CST.TokenType | null = atScalar ? null : CST.tokenType(lexeme);
    atScalar = type === 'scalar';
    const refused = type === null ? undefined : REFUSED[type];
    if (refused !== undefined) {
      refuse(refused, 'plain lists, tables and values: write it out');
      plain = false;
    }
    // What it makes is not looked at: the reader makes it once more.
    Array.from(parser.next(lexeme));
    pieces += 1;
    if (parser.stack.length > OPEN_MAX) {
      refuse('more levels', `at most ${String(GATE_LEVELS_MAX)} levels`, 'WORKFLOW_FILE_TOO_DEEP');
      return false;
    }
    if (pieces > PIECES_MAX) {
      refuse(`more than ${String(PIECES_MAX)} pieces`, 'a gate', 'WORKFLOW_FILE_TOO_LARGE');
      return false;
    }
  }
  return plain;
};

const syntax = (text: string, file: string, report: Report): unknown => {
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    strict: true,
    uniqueKeys: true,
    stringKeys: true,
    merge: false,
    resolveKnownTags: false,
    prettyErrors: false,
    // Silent, it would take the first of several documents.
    logLevel: 'error',
  });
  const problems = [...document.errors, ...document.warnings];
  for (const { message, pos } of problems) {
    const [found = message] = message.split('\n', 1);
    const place = placeAt(text, pos[0]);
    report.error({ code: 'WORKFLOW_SYNTAX', path: '', found, expected: 'YAML 1.2', file, ...place });
  }
  return problems.length > 0 ? undefined : document.toJS({ maxAliasCount: 0 });
};

/** The data of one YAML file; undefined where it is none, and why is in the report. */
export const parseYaml = (written: string, file: string, report: Report): unknown => {
  const text = written.startsWith('\uFEFF') ? written.slice(1) : written;
  if (!isSmall(text, file, report, GATE_BYTES_MAX) || !isPlain(text, file, report)) return undefined;
  const data = syntax(text, file, report);
  return data !== undefined && isClean(data, file, report, GATE_LEVELS_MAX) ? data : undefined;
};
