import { parse, TomlError } from 'smol-toml';
import type { Problem } from '../problems/problem.ts';

/** Far larger than any real configuration. */
export const CONFIG_MAX_CHARACTERS = 262_144;
const DEPTH_MAX = 64;

export type ParsedConfig = { readonly value: unknown } | { readonly problem: Problem };

type Position = { readonly line: number; readonly column: number };

const endOf = (text: string): Position => {
  const lines = text.split('\n');
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
};

/** JSON.parse reports a position only in some of its messages. */
const jsonPosition = (text: string, message: string): Position | undefined => {
  if (message === 'Unexpected end of JSON input') return endOf(text);
  const said = /line (\d+) column (\d+)/.exec(message);
  return said === null ? undefined : { line: Number(said[1]), column: Number(said[2]) };
};

const firstLine = (message: string): string => message.split('\n')[0] ?? '';

const syntax = (file: string, language: string, said: string, at: Position | undefined): ParsedConfig => ({
  problem: {
    code: 'WORKFLOW_CONFIG_SYNTAX',
    severity: 'error',
    path: '',
    found: said,
    expected: language,
    file,
    ...at,
  },
});

const parseToml = (text: string, file: string): ParsedConfig => {
  try {
    return { value: parse(text, { maxDepth: DEPTH_MAX }) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    return syntax(file, 'TOML', firstLine(error.message), { line: error.line, column: error.column });
  }
};

const parseJson = (text: string, file: string): ParsedConfig => {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return syntax(file, 'JSON', error.message.replaceAll(/\s+/g, ' '), jsonPosition(text, error.message));
  }
};

/** Parses JSON for files with that extension, TOML for all others. */
export const parseConfigText = (text: string, file: string): ParsedConfig => {
  if (text.length > CONFIG_MAX_CHARACTERS) {
    const found = `${String(text.length)} characters`;
    const expected = `at most ${String(CONFIG_MAX_CHARACTERS)}`;
    return {
      problem: { code: 'WORKFLOW_CONFIG_TOO_LARGE', severity: 'error', path: '', found, expected, file },
    };
  }
  return file.endsWith('.json') ? parseJson(text, file) : parseToml(text, file);
};
