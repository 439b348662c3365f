import type { z } from 'zod';
import { shown, type Report } from '../problems/report.ts';
import { KNOWN } from './table.ts';

type Key = string | number | symbol;

type ShapeOptions = { readonly file: string; readonly report: Report; readonly exampleAt?: ExampleAt };

const inside = (value: unknown, key: Key): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<Key, unknown>>)[key]
    : undefined;

export const valueAt = (data: unknown, path: readonly Key[]): unknown => path.reduce(inside, data);

/** A path such as `nodes[check].needs[0]`: nodes by id, other list entries by index. */
export const fieldPath = (data: unknown, path: readonly Key[]): string => {
  let text = '';
  path.forEach((key, depth) => {
    if (typeof key !== 'number') {
      text += depth === 0 ? String(key) : `.${String(key)}`;
      return;
    }
    const id =
      path[depth - 1] === 'nodes' ? inside(valueAt(data, path.slice(0, depth + 1)), 'id') : undefined;
    text += typeof id === 'string' && id !== '' ? `[${id}]` : `[${String(key)}]`;
  });
  return text;
};

const TYPE_NAMES: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'a table',
  record: 'a table',
  string: 'a string',
};

const typeName = ({ expected }: z.core.$ZodIssueInvalidType): string =>
  TYPE_NAMES[expected] ?? `a value of the type ${expected}`;

/** The expected value, and the known words that the issue names. */
const expectation = (issue: z.core.$ZodIssue): { expected: string; known: readonly string[] } => {
  if (issue.code === 'invalid_value') {
    const known = issue.values.map(String);
    return { expected: `${KNOWN}${known.join(', ')}`, known };
  }
  if (issue.code === 'invalid_type') return { expected: typeName(issue), known: [] };
  const start = issue.message.indexOf(KNOWN);
  const known = start < 0 ? [] : issue.message.slice(start + KNOWN.length).split(', ');
  return { expected: issue.message, known };
};

const unknownKeys = (
  issue: z.core.$ZodIssueUnrecognizedKeys,
  data: unknown,
  file: string,
  report: Report,
): void => {
  const { expected, known } = expectation(issue);
  for (const key of issue.keys) {
    report.error({
      code: 'WORKFLOW_KEY_UNKNOWN',
      path: fieldPath(data, [...issue.path, key]),
      found: `the key ${shown(key)}`,
      expected,
      meant: [key, known],
      file,
    });
  }
};

/** An example of the field at a path, as one writes it. */
export type ExampleAt = (path: readonly PropertyKey[]) => string | undefined;

const withExample = (expected: string, issue: z.core.$ZodIssue, exampleAt: ExampleAt | undefined): string => {
  const example = issue.code === 'invalid_type' ? exampleAt?.(issue.path) : undefined;
  return example === undefined ? expected : `${expected}, as in ${example}`;
};

const reportIssue = (
  issue: z.core.$ZodIssue,
  data: unknown,
  { file, report, exampleAt }: Pick<ShapeOptions, 'file' | 'report' | 'exampleAt'>,
): void => {
  if (issue.code === 'unrecognized_keys') {
    unknownKeys(issue, data, file, report);
    return;
  }
  const value = valueAt(data, issue.path);
  const { expected, known } = expectation(issue);
  report.error({
    code: value === undefined ? 'WORKFLOW_KEY_MISSING' : 'WORKFLOW_VALUE_INVALID',
    path: fieldPath(data, issue.path),
    found: shown(value),
    expected: withExample(expected, issue, exampleAt),
    ...(typeof value === 'string' && { meant: [value, known] as const }),
    file,
  });
};

const without = (data: unknown, issue: z.core.$ZodIssueUnrecognizedKeys): void => {
  const holder = valueAt(data, issue.path);
  for (const key of issue.keys)
    if (typeof holder === 'object' && holder !== null) Reflect.deleteProperty(holder, key);
};

/**
 * Validates data against a schema. If unknown keys are the only mistakes, they are reported and removed, so
 * that later checks can run. Changes `data`.
 */
export const parseShape = <Shape extends z.ZodType>(
  shape: Shape,
  data: unknown,
  options: ShapeOptions,
): z.infer<Shape> | undefined => {
  const first = shape.safeParse(data);
  if (first.success) return first.data;
  for (const issue of first.error.issues) reportIssue(issue, data, options);
  for (const issue of first.error.issues) {
    if (issue.code !== 'unrecognized_keys') return undefined;
    without(data, issue);
  }
  return shape.safeParse(data).data;
};
