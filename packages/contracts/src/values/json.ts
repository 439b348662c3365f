import canonicalize from 'canonicalize';
import { hash } from 'node:crypto';
import { z } from 'zod';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const isJson = (value: unknown): boolean => {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value);
    case 'object':
      if (value === null) return true;
      if (Array.isArray(value)) return value.every(isJson);
      return z.core.util.isPlainObject(value) && Object.values(value).every(isJson);
    default:
      return false;
  }
};

/** The value, if it is an object. */
export const objectIn = (value: Json | undefined): JsonObject | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;

/** A field that is an object; an empty one in place of anything else. */
export const tableIn = (object: JsonObject, name: string): JsonObject => objectIn(object[name]) ?? {};

const PROTO = '__proto__';

const namesProto = (value: Json): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.hasOwn(value, PROTO) || Object.values<Json>(value).some(namesProto));

/** Without the key `__proto__`, so that copies of objects stay safe. */
const withoutProto = (value: Json): Json => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutProto);
  const members = Object.entries<Json>(value).filter(([key]) => key !== PROTO);
  return Object.fromEntries(members.map(([key, member]) => [key, withoutProto(member)]));
};

/**
 * Any JSON value, as a schema. The payload limit of the bus bounds its size. It is one check: a schema that contains itself is
 * slow, and cannot be compiled.
 */
export const Json = z
  .unknown()
  .refine(isJson, { abort: true })
  .overwrite((value) => (namesProto(value as Json) ? withoutProto(value as Json) : value)) as z.ZodType<Json>;

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
