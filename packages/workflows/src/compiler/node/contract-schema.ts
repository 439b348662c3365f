import type { Json } from '@holdpoint/contracts/values/json';

/**
 * The supported JSON Schema keywords. A contract describes the descriptor of an artifact, not its content.
 */
const KEYWORDS = ['type', 'required', 'properties', 'additionalProperties', 'const', 'enum', 'pattern'];
const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

export type SchemaFault = {
  readonly path: string;
  readonly found: string;
  readonly expected: string;
  readonly known?: readonly string[];
};

type Table = { readonly [key: string]: Json };

const isTable = (value: Json | undefined): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isTexts = (value: Json): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

/** The words of `^word$` or `^(one|other)$`. Other patterns are not supported: a contract lists values. */
const wordsOf = (pattern: string): ReadonlySet<string> | undefined => {
  const inner = /^\^(.*)\$$/s.exec(pattern)?.[1];
  if (inner === undefined) return undefined;
  const group = /^\((.*)\)$/s.exec(inner)?.[1];
  const words = group === undefined ? [inner] : group.split('|');
  return words.some((word) => /[\\^$.*+?()[\]{}|]/.test(word)) ? undefined : new Set(words);
};

const typesOf = (type: Json): readonly Json[] => (Array.isArray(type) ? (type as readonly Json[]) : [type]);

const keywordFault = (keyword: string, value: Json): string | undefined => {
  switch (keyword) {
    case 'type':
      return typesOf(value).every((type) => typeof type === 'string' && TYPES.includes(type))
        ? undefined
        : TYPES.join(', ');
    case 'required':
      return isTexts(value) ? undefined : 'a list of names';
    case 'properties':
      return isTable(value) ? undefined : 'a table of schemas';
    case 'additionalProperties':
      return typeof value === 'boolean' ? undefined : 'true or false';
    case 'enum':
      return Array.isArray(value) ? undefined : 'a list of values';
    case 'pattern':
      return typeof value === 'string' && wordsOf(value) !== undefined
        ? undefined
        : '^word$ or ^(one|other)$';
    default:
      return undefined;
  }
};

/** The mistakes in a schema itself. */
export const schemaFaults = (schema: Json, path: string): readonly SchemaFault[] => {
  if (typeof schema === 'boolean') return [];
  if (!isTable(schema)) return [{ path, found: 'neither', expected: 'true, false or a table of keywords' }];
  return Object.entries(schema).flatMap(([keyword, value]): readonly SchemaFault[] => {
    const at = `${path}.${keyword}`;
    if (!KEYWORDS.includes(keyword)) {
      return [{ path: at, found: `the keyword ${keyword}`, expected: KEYWORDS.join(', '), known: KEYWORDS }];
    }
    const expected = keywordFault(keyword, value);
    if (expected !== undefined) return [{ path: at, found: JSON.stringify(value).slice(0, 80), expected }];
    if (keyword !== 'properties' || !isTable(value)) return [];
    return Object.entries(value).flatMap(([name, inner]) => schemaFaults(inner, `${at}.${name}`));
  });
};

const hasType = (value: Json, type: Json): boolean => {
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isTable(value);
  if (type === 'null') return value === null;
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
};

const same = (one: Json, other: Json): boolean => JSON.stringify(one) === JSON.stringify(other);

const ownFault = (schema: Table, value: Json): string | undefined => {
  const { type, pattern } = schema;
  if (type !== undefined && !typesOf(type).some((one) => hasType(value, one))) return JSON.stringify(type);
  if (schema['const'] !== undefined && !same(schema['const'], value)) return JSON.stringify(schema['const']);
  const allowed = schema['enum'];
  if (Array.isArray(allowed) && !allowed.some((one: Json) => same(one, value)))
    return `one of ${JSON.stringify(allowed)}`;
  if (typeof pattern !== 'string' || typeof value !== 'string') return undefined;
  return wordsOf(pattern)?.has(value) === false ? pattern : undefined;
};

/** The first violation of a valid schema, or undefined. */
export const violation = (schema: Json, value: Json, path: string): SchemaFault | undefined => {
  if (schema === true) return undefined;
  const found = JSON.stringify(value);
  if (!isTable(schema)) return { path, found, expected: 'no value: the schema is false' };
  const expected = ownFault(schema, value);
  if (expected !== undefined) return { path, found, expected };
  if (!isTable(value)) return undefined;
  const { required = [], properties, additionalProperties } = schema;
  const missing = isTexts(required) ? required.find((name) => !Object.hasOwn(value, name)) : undefined;
  if (missing !== undefined) return { path: `${path}.${missing}`, found: 'nothing', expected: 'a value' };
  const known = isTable(properties) ? properties : {};
  for (const [name, inner] of Object.entries(value)) {
    const at = `${path}.${name}`;
    const rule = Object.hasOwn(known, name) ? known[name] : additionalProperties;
    const fault = rule === undefined ? undefined : violation(rule, inner, at);
    if (fault !== undefined) return fault;
  }
  return undefined;
};
