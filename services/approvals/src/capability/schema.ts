import type { Json, JsonObject } from '@holdpoint/contracts/values/json';

/** A JSON Schema of the dialect 2020-12: `true`, `false` or keywords. */
export type Schema = boolean | JsonObject;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isSchema = (value: unknown): value is Schema => typeof value === 'boolean' || isObject(value);

/** Keywords whose schema applies to the same value, so that a circle of them has no end. */
export const IN_PLACE = ['not', 'if', 'then', 'else'] as const;
export const IN_PLACE_LISTS = ['allOf', 'anyOf', 'oneOf'] as const;

const unescaped = (part: string): string =>
  decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');

/** The schema that a reference such as `#/$defs/Order` names in its document; undefined if it names none. */
export const schemaAt = (root: JsonObject, reference: string): Schema | undefined => {
  if (reference === '#') return root;
  if (!reference.startsWith('#/')) return undefined;
  let found: Json | undefined = root;
  for (const part of reference.slice(2).split('/')) {
    const name = safely(() => unescaped(part));
    if (name === undefined || typeof found !== 'object' || found === null || !Object.hasOwn(found, name))
      return undefined;
    found = (found as Readonly<Record<string, Json>>)[name];
  }
  return isSchema(found) ? found : undefined;
};

/** A percent sign that begins no escape. */
const safely = (read: () => string): string | undefined => {
  try {
    return read();
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
};
