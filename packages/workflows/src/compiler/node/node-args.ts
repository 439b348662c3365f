import type { Json } from '@holdpoint/contracts/values/json';
import type { Fields } from '../parameters/fields.ts';
import { takesJson } from './labels.ts';
import { shown } from '../../problems/report.ts';
import { isScalar } from '../../reading/table.ts';

export type Args = Readonly<Record<string, Json>>;

/** A text argument; empty when there is none. */
export const textArg = (args: Args, name: string): string => {
  const value = args[name];
  return typeof value === 'string' ? value : '';
};

/** The first of these arguments that is a non-blank text; empty when there is none. */
export const firstText = (args: Args, names: readonly string[]): string =>
  names.map((name) => textArg(args, name)).find((text) => text.trim() !== '') ?? '';

/** Replaces placeholders in every text of a value. Recursion is safe: the depth of a file is bounded. */
const expanded = (value: Json, field: string, fields: Fields): Json => {
  if (typeof value === 'string') return fields.text(value, field);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    return value.map((inner: Json, index) => expanded(inner, `${field}[${String(index)}]`, fields));
  }
  const entries = Object.entries(value).map(([key, inner]) => [
    key,
    expanded(inner, `${field}.${key}`, fields),
  ]);
  return Object.fromEntries(entries) as Json;
};

const argument = (uses: string, value: Json, field: string, fields: Fields): Json => {
  if (takesJson(uses)) return expanded(value, field, fields);
  if (isScalar(value)) return fields.text(String(value), field);
  fields.error('WORKFLOW_VALUE_INVALID', field, shown(value), 'a string, a boolean or a whole number');
  return '';
};

/** Arguments with placeholders replaced. For stage capabilities all are texts: `true` equals `"true"`. */
export const argsOf = (uses: string, args: Args, field: string, fields: Fields): Args =>
  Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, argument(uses, value, `${field}.${name}`, fields)]),
  );
