import canonicalize from 'canonicalize';
import { hash } from 'node:crypto';
import { z } from 'zod';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Any JSON value, as a schema. The payload limit of the bus bounds its size. */
export const Json = z.json() as z.ZodType<Json>;

/**
 * Maximum depth of a JSON object. Messages add levels of their own, and must stay within the limit of bus
 * readers.
 */
export const JSON_LEVELS_MAX = 32;

const hasLevels = (value: Json, left: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (left > 0 && Object.values(value).every((inner: Json) => hasLevels(inner, left - 1)));

export const JsonObject = z
  .record(z.string(), Json)
  .refine((value) => hasLevels(value, JSON_LEVELS_MAX), `at most ${String(JSON_LEVELS_MAX)} levels deep`);
export type JsonObject = z.infer<typeof JsonObject>;

/** RFC 8785 text of a value: equal values give equal bytes. Throws `TypeError` for values outside JSON. */
export const canonicalJson = (value: unknown): string => {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('not a JSON value');
  return text;
};

/** SHA-256 of bytes or UTF-8 text, in hex. */
export const sha256Of = (data: string | Uint8Array): string => hash('sha256', data);

/** SHA-256 of the canonical text, as 64 lower-case hex digits. */
export const digestOf = (value: unknown): string => sha256Of(canonicalJson(value));

/** A value as it is sent, without undefined fields. */
export const asSent = (value: object): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject;
