import type { Json } from '@holdpoint/contracts/values/json';
import { clean } from './send-request.ts';

type Fill = (text: string) => string;

/** Every text in a value with its secrets in place. Filled in before it is written as JSON, a secret cannot end its text. */
export const filledIn = (value: Json, fill: Fill): Json => {
  if (typeof value === 'string') return fill(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((inner: Json) => filledIn(inner, fill));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, filledIn(inner, fill)]));
};

/** Never shown: a secret that is no header would be part of the error otherwise. */
const asHeader = (value: string): string => {
  if (/^[\t\x20-\x7e]*$/.test(value)) return value;
  throw clean('EXECUTOR_SECRET_NOT_ALLOWED', 'a secret holds what no header can, such as a line end');
};

/** Headers with their names in lower case and their secrets in place, and the names of those that hold one. */
export const filledHeaders = (
  headers: Readonly<Record<string, string>>,
  fill: Fill,
): { readonly headers: Record<string, string>; readonly confidential: ReadonlySet<string> } => {
  const filled = Object.entries(headers).map(([name, value]) => {
    const text = asHeader(fill(value));
    return { name: name.toLowerCase(), text, isSecret: text !== value };
  });
  return {
    headers: Object.fromEntries(filled.map(({ name, text }) => [name, text])),
    confidential: new Set([
      'authorization',
      'cookie',
      ...filled.flatMap(({ name, isSecret }) => (isSecret ? [name] : [])),
    ]),
  };
};
