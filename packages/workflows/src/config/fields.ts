import { nearestName, type Problem } from '../problems/problem.ts';
import { shown } from '../problems/report.ts';

/** One value of a configuration, with the sink for its problems. */
export type Field = {
  readonly value: unknown;
  /** For example `agents.commands.approve`. */
  readonly path: string;
  readonly file: string;
  /** Whether an unknown key is an error. */
  readonly strict: boolean;
  readonly report: (problem: Problem) => void;
};

export type Table = Readonly<Record<string, unknown>>;

const BARE_KEY = /^[A-Za-z0-9_-]+$/;
const joined = (path: string, key: string): string => {
  const part = BARE_KEY.test(key) ? key : JSON.stringify(key);
  return path === '' ? part : `${path}.${part}`;
};

export const reportField = (
  { path, file, report }: Field,
  code: string,
  found: string,
  expected: string,
  more: Partial<Pick<Problem, 'severity' | 'nearest'>> = {},
): void => {
  report({ code, severity: 'error', path, found, expected, file, ...more });
};

const reportType = (field: Field, expected: string): undefined => {
  reportField(field, 'WORKFLOW_CONFIG_TYPE', shown(field.value), expected);
};

const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);

/** The entry of a table; undefined when the entry or the table is missing. */
export const entryOf = (field: Field, key: string): Field | undefined =>
  isTable(field.value) && Object.hasOwn(field.value, key)
    ? { ...field, value: field.value[key], path: joined(field.path, key) }
    : undefined;

/** The entries of a table by key. A value of another type is reported. */
export const entriesOf = (field: Field | undefined): readonly (readonly [key: string, entry: Field])[] => {
  if (field === undefined) return [];
  const { value } = field;
  if (!isTable(value)) {
    reportType(field, 'a table');
    return [];
  }
  return Object.keys(value).map((key) => [
    key,
    { ...field, value: value[key], path: joined(field.path, key) },
  ]);
};

/** A table that accepts only these keys. */
export const tableOf = (field: Field | undefined, known: readonly string[]): Field | undefined => {
  if (field === undefined) return undefined;
  for (const [key, entry] of entriesOf(field)) {
    if (known.includes(key) || !field.strict) continue;
    const nearest = nearestName(key, known);
    const expected = `one of ${known.join(', ')}`;
    reportField(
      entry,
      'WORKFLOW_CONFIG_UNKNOWN_KEY',
      key,
      expected,
      nearest === undefined ? {} : { nearest },
    );
  }
  return isTable(field.value) ? field : undefined;
};

export const textOf = (field: Field | undefined): string | undefined => {
  if (field === undefined || typeof field.value === 'string') return field?.value as string | undefined;
  return reportType(field, 'a string');
};

export const flagOf = (field: Field | undefined): boolean | undefined => {
  if (field === undefined || typeof field.value === 'boolean') return field?.value as boolean | undefined;
  return reportType(field, 'true or false');
};

export const textsOf = (field: Field | undefined): readonly string[] | undefined => {
  if (field === undefined) return undefined;
  const { value } = field;
  const texts = Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
  return Array.isArray(value) && texts.length === value.length
    ? texts
    : reportType(field, 'an array of strings');
};

export const oneOf = <Name extends string>(
  field: Field | undefined,
  names: readonly Name[],
): Name | undefined => {
  if (field === undefined) return undefined;
  return names.find((name) => name === field.value) ?? reportType(field, `one of ${names.join(', ')}`);
};
