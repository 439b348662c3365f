import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import { InvalidArgumentError } from 'commander';
import type { z } from 'zod';

/** Replaces the texts of zod that speak of types instead of the argument. */
const issueText = (issue: z.core.$ZodIssue): string => {
  const { message } = issue;
  if (issue.code === 'too_small')
    return issue.origin === 'string' ? 'must not be empty' : `must be at least ${String(issue.minimum)}`;
  return message.replace(
    /^Invalid option: expected one of (.*)$/,
    (_, options: string) => `expected one of ${options.replaceAll('"', '').replaceAll('|', ', ')}`,
  );
};

/** Parses an argument by a contract schema. Throws a usage error. */
export const as =
  <Schema extends z.ZodType>(schema: Schema) =>
  (text: string): z.output<Schema> => {
    const parsed = schema.safeParse(text);
    if (parsed.success) return parsed.data;
    throw new InvalidArgumentError(parsed.error.issues.map(issueText).join('; '));
  };

/** A goal of a task. */
export const goalText = (text: string): string => {
  if (text.trim() !== '') return text;
  throw new InvalidArgumentError('the goal is empty: describe the result that you want');
};

export const wholeNumber =
  (max: number) =>
  (text: string): number => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= 1 && number <= max) return number;
    throw new InvalidArgumentError(`expected a number from 1 to ${String(max)}`);
  };

const COUNT_MAX = 1_000_000_000;

/** A number that may be zero. */
export const count = (text: string): number => {
  const number = Number(text);
  if (/^\d+$/.test(text) && number <= COUNT_MAX) return number;
  throw new InvalidArgumentError(`expected a number from 0 to ${String(COUNT_MAX)}`);
};

export const oneOf =
  <const Words extends readonly string[]>(words: Words) =>
  (text: string): Words[number] => {
    const found = words.find((word) => word === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`expected one of ${words.join(', ')}`);
  };

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Parses `90s`, `30m`, `12h` or `30d` to milliseconds. */
export const duration = (text: string): number => {
  const { number, unit } = /^(?<number>[1-9]\d{0,5})(?<unit>[smhd])$/.exec(text)?.groups ?? {};
  if (number === undefined || unit === undefined)
    throw new InvalidArgumentError('expected a time such as 90s, 30m, 12h or 30d');
  return Number(number) * UNITS_MS[unit as keyof typeof UNITS_MS];
};

const MOMENT = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** Parses a UTC day (its start) or a time with zone to epoch milliseconds. */
export const moment = (text: string): number => {
  const at = MOMENT.test(text) ? Date.parse(text.replace(' ', 'T')) : Number.NaN;
  if (at >= 0) return at;
  throw new InvalidArgumentError('expected a day such as 2026-01-15, or a time such as 2026-01-15T09:30:00Z');
};

export const collect = (text: string, before: readonly string[] = []): readonly string[] => [...before, text];

const parseJson = (key: string, text: string): Json => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new InvalidArgumentError(`expected JSON after ${key}:=`);
  }
};

export const collectInput = (text: string, before: JsonObject = {}): JsonObject => {
  const match = /^(?<key>[^=:]+)(?<sign>:?=)(?<value>.*)$/su.exec(text);
  const { key, sign, value } = match?.groups ?? {};
  if (key === undefined || value === undefined)
    throw new InvalidArgumentError('expected key=text or key:=json');
  if (Object.hasOwn(before, key)) throw new InvalidArgumentError(`${key} occurs twice`);
  return Object.fromEntries([
    ...Object.entries(before),
    [key, sign === ':=' ? parseJson(key, value) : value],
  ]);
};
