import type { Json } from '@holdpoint/contracts/values/json';
import { clean } from './send-request.ts';

type Fill = (text: string) => string;

/**
 * Fills secrets into every text of a value. Done before encoding as JSON, so that a secret cannot break out of its
 * text.
 */
export const fillBody = (value: Json, fill: Fill): Json => {
  if (typeof value === 'string') return fill(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((inner: Json) => fillBody(inner, fill));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fillBody(inner, fill)]));
};

/** Rejected here, because the error of the HTTP client would contain the secret. */
const asHeader = (value: string): string => {
  if (/^[\t\x20-\x7e]*$/.test(value)) return value;
  throw clean(
    'EXECUTOR_SECRET_NOT_ALLOWED',
    'A secret contains characters that a header cannot, such as a line end',
  );
};

/** Fills secrets into headers. Returns lower-case names, and the names of confidential headers. */
export const fillHeaders = (
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
