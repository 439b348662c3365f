import { CST, Lexer, parseDocument, Parser } from 'yaml';
import { isClean, isSmall } from '../reading/parse.ts';
import type { Report } from '../problems/report.ts';

/** Far larger than any real gate. */
export const GATE_BYTES_MAX = 262_144;
/** Maximum nesting of tables and lists. */
export const GATE_LEVELS_MAX = 32;
/** Maximum syntax tokens: the check for duplicate keys takes quadratic time. */
const PIECES_MAX = 20_000;
/** Maximum open items of the parser; each level takes one or two. */
const OPEN_MAX = 80;

/** YAML features that no gate needs: references that repeat parts of a file, and custom types. */
const REFUSED: Readonly<Record<string, string>> = {
  anchor: 'an anchor (&)',
  alias: 'an alias (*)',
  tag: 'a tag (!)',
  'directive-line': 'a directive (%)',
};

type Position = { readonly line: number; readonly column: number };

const positionAt = (text: string, offset: number): Position => {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  return { line, column: offset - before.lastIndexOf('\n') };
};

/**
 * Checks size, nesting and features before parsing. The document parser is recursive, so this uses the
 * incremental one.
 */
const isPlain = (text: string, file: string, report: Report): boolean => {
  const parser = new Parser();
  const refuse = (found: string, expected: string, code = 'WORKFLOW_YAML_REFUSED'): void => {
    report.error({ code, path: '', found, expected, file, ...positionAt(text, parser.offset) });
  };
  let pieces = 0;
  let plain = true;
  let atScalar = false;
  for (const lexeme of new Lexer().lex(text)) {
    const type: CST.TokenType | null = atScalar ? null : CST.tokenType(lexeme);
    atScalar = type === 'scalar';
    const refused = type === null ? undefined : REFUSED[type];
    if (refused !== undefined) {
      refuse(refused, 'plain lists, tables and values');
      plain = false;
    }
    // Only the parser's state matters here; the document parser builds the result.
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
    // With less, the parser would silently take the first of several documents.
    logLevel: 'error',
  });
  const problems = [...document.errors, ...document.warnings];
  for (const { message, pos } of problems) {
    const [found = message] = message.split('\n', 1);
    const position = positionAt(text, pos[0]);
    report.error({ code: 'WORKFLOW_SYNTAX', path: '', found, expected: 'YAML 1.2', file, ...position });
  }
  return problems.length > 0 ? undefined : document.toJS({ maxAliasCount: 0 });
};

/** Parses a YAML file. Returns undefined after any error; all errors are in the report. */
export const parseYaml = (written: string, file: string, report: Report): unknown => {
  const text = written.startsWith('\uFEFF') ? written.slice(1) : written;
  if (!isSmall(text, file, report, GATE_BYTES_MAX) || !isPlain(text, file, report)) return undefined;
  const data = syntax(text, file, report);
  return data !== undefined && isClean(data, file, report, GATE_LEVELS_MAX) ? data : undefined;
};
