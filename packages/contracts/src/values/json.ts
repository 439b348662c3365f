import canonicalize from 'canonicalize';
import { createHash } from 'node:crypto';
import { z } from 'zod';

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Any JSON value, as a schema. Its size is bounded by the payload limit of the bus. */
export const Json = z.json() as z.ZodType<Json>;

/**
 * Levels of a JSON object at the most, itself among them. Other messages wrap it in some of their own, and have to stay
 * within what a reader of the bus takes.
 */
export const JSON_LEVELS_MAX = 32;

const hasLevels = (value: Json, left: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (left > 0 && Object.values(value).every((inner: Json) => hasLevels(inner, left - 1)));

/** A JSON object. */
export const JsonObject = z
  .record(z.string(), Json)
  .refine((value) => hasLevels(value, JSON_LEVELS_MAX), `at most ${String(JSON_LEVELS_MAX)} levels deep`);
export type JsonObject = z.infer<typeof JsonObject>;

/** RFC 8785 text of a value: the same value always gives the same bytes. Throws `TypeError` on what JSON cannot hold. */
export const canonicalJson = (value: unknown): string => {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('not a JSON value');
  return text;
};

/** SHA-256 of bytes, or of a text in UTF-8, in hexadecimal. */
export const sha256Of = (data: string | Uint8Array): string =>
  createHash('sha256').update(data).digest('hex');

/** SHA-256 of the canonical text, as 64 lower-case hex digits. */
export const digestOf = (value: unknown): string => sha256Of(canonicalJson(value));

/** A value as it is sent: what is not there is left out. Only for what is JSON otherwise. */
export const asSent = (value: object): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject;
