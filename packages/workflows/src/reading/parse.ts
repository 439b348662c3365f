import { parse as parseToml, TomlError } from 'smol-toml';
import { createReport, shown, type Report } from '../problems/report.ts';
import { fieldPath } from './shape.ts';

/** Far larger than any real template. */
export const FILE_BYTES_MAX = 1_048_576;
/** Maximum nesting of tables and lists. */
export const FILE_LEVELS_MAX = 40;

const JSON_PLACE = /\(line (\d{1,9}) column (\d{1,9})\)/;

const syntaxProblem = (error: unknown): { found: string; line?: number; column?: number } => {
  const text = error instanceof Error ? error.message : String(error);
  const [found = text] = text.split('\n', 1);
  if (error instanceof TomlError) {
    return { found: found.replace('Invalid TOML document: ', ''), line: error.line, column: error.column };
  }
  const position = JSON_PLACE.exec(text);
  return position === null ? { found } : { found, line: Number(position[1]), column: Number(position[2]) };
};

/** Stores refuse NUL and half surrogate pairs. */
export const isText = (text: string): boolean => text.isWellFormed() && !text.includes('\0');
export const TEXT = 'text without NUL and without half characters';

type TreePosition = {
  readonly value: unknown;
  readonly level: number;
  readonly path: readonly (string | number)[];
};

const insides = (value: object): readonly (readonly [string | number, unknown])[] =>
  Array.isArray(value) ? value.map((inner, position) => [position, inner] as const) : Object.entries(value);

/**
 * Reports forbidden values at any key. Iterative, because the data may be too deep
 * for the call stack.
 */
const reportTree = (data: unknown, file: string, report: Report, levels: number): void => {
  const open: TreePosition[] = [{ value: data, level: 0, path: [] }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, level, path } = next;
    const refuse = (code: string, found: string, expected: string): void => {
      report.error({ code, path: fieldPath(data, path), found, expected, file });
    };
    if (value instanceof Date) refuse('WORKFLOW_VALUE_INVALID', shown(value), 'a string in quotes');
    if (typeof value === 'string' && !isText(value)) refuse('WORKFLOW_VALUE_INVALID', shown(value), TEXT);
    if (typeof value === 'number' && !Number.isFinite(value))
      refuse('WORKFLOW_VALUE_INVALID', String(value), 'a finite number');
    if (typeof value !== 'object' || value === null || value instanceof Date) continue;
    if (level === levels) {
      refuse('WORKFLOW_FILE_TOO_DEEP', 'more levels', `at most ${String(levels)} levels`);
      return;
    }
    for (const [key, inner] of insides(value)) {
      if (typeof key === 'string' && !isText(key)) refuse('WORKFLOW_KEY_UNKNOWN', shown(key), TEXT);
      else if (key === '__proto__') refuse('WORKFLOW_KEY_UNKNOWN', 'the key "__proto__"', 'another key');
      else open.push({ value: inner, level: level + 1, path: [...path, key] });
    }
  }
};

/** Checks the values of a file; all problems are in the report. */
export const isClean = (data: unknown, file: string, report: Report, levels = FILE_LEVELS_MAX): boolean => {
  const tree = createReport();
  reportTree(data, file, tree, levels);
  for (const problem of tree.problems) report.error(problem);
  return tree.problems.length === 0;
};

const parseData = (written: string, file: string, report: Report): unknown => {
  // Some editors write a byte order mark.
  const text = written.startsWith('\uFEFF') ? written.slice(1) : written;
  try {
    if (file.endsWith('.json')) return JSON.parse(text);
    return parseToml(text, { maxDepth: FILE_LEVELS_MAX + 1 });
  } catch (error) {
    const expected = file.endsWith('.json') ? 'JSON' : 'TOML 1.1';
    report.error({ code: 'WORKFLOW_SYNTAX', path: '', expected, file, ...syntaxProblem(error) });
    return undefined;
  }
};

/** Checks the size before parsing. */
export const isSmall = (text: string, file: string, report: Report, most = FILE_BYTES_MAX): boolean => {
  // UTF-16 code units never exceed UTF-8 bytes, so most large texts need no encoding.
  const bytes = text.length > most ? text.length : new TextEncoder().encode(text).length;
  if (bytes <= most) return true;
  report.error({
    code: 'WORKFLOW_FILE_TOO_LARGE',
    path: '',
    found: `${String(bytes)} bytes`,
    expected: `at most ${String(most)}`,
    file,
  });
  return false;
};

/** Parses a file by its extension, JSON or TOML. All problems are in the report. */
export const parseClean = (text: string, file: string, report: Report, most = FILE_BYTES_MAX): unknown => {
  if (!isSmall(text, file, report, most)) return undefined;
  const data = parseData(text, file, report);
  return data !== undefined && isClean(data, file, report) ? data : undefined;
};
