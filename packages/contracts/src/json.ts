import canonicalize from 'canonicalize';
import { createHash } from 'node:crypto';
import { z } from 'zod';

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Any JSON value, as a schema. Depth and size are bounded by the payload limit of the bus. */
export const Json = z.json() as z.ZodType<Json>;

/** A JSON object. */
export const JsonObject = z.record(z.string(), Json);
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
