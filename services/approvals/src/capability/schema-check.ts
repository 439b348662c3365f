import { canonicalJson, type Json, type JsonObject } from '@holdpoint/contracts/values/json';
import { isPattern } from '@holdpoint/contracts/values/pattern';
import { IN_PLACE, IN_PLACE_LISTS, isObject, isSchema, schemaAt } from './schema.ts';

/** Bytes of a schema as JSON. */
export const SCHEMA_MAX_BYTES = 65_536;
/** Patterns of a schema: each is compiled. */
const PATTERNS_MAX = 200;

const DIALECT = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

/** Keywords with a meaning that this check does not have: without them the schema would mean something else. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  $anchor: 'use $ref with a path such as #/$defs/name',
  $dynamicRef: 'use $ref',
  $dynamicAnchor: 'use $ref',
  $recursiveRef: 'use $ref',
  unevaluatedProperties: 'use additionalProperties',
  unevaluatedItems: 'use items',
  additionalItems: 'use items beside prefixItems',
  dependencies: 'use dependentRequired or dependentSchemas',
};

const TYPES: readonly unknown[] = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'];

type Check = (value: Json, look: Look) => string | undefined;

/** One place of a schema. */
type Look = {
  readonly root: JsonObject;
  readonly path: string;
  /** Examines a schema inside of this one. */
  readonly inner: (value: Json, key: string) => string | undefined;
  readonly pattern: (source: string) => string | undefined;
};

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);
const firstOf = <Item>(
  items: readonly Item[],
  check: (item: Item) => string | undefined,
): string | undefined => {
  for (const item of items) {
    const problem = check(item);
    if (problem !== undefined) return problem;
  }
  return undefined;
};

const schema: Check = (value, { inner }) => inner(value, '');
const schemas: Check = (value, { inner }) =>
  isList(value) && value.length > 0
    ? firstOf([...value.entries()], ([place, each]) => inner(each, `/${String(place)}`))
    : 'needs a list of schemas';
const schemasByName: Check = (value, { inner }) =>
  isObject(value)
    ? firstOf(Object.entries(value), ([name, each]) => inner(each, `/${name}`))
    : 'needs an object of schemas';
const count: Check = (value) =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? undefined : 'needs a whole number from 0';
const number: Check = (value) => (typeof value === 'number' ? undefined : 'needs a number');
const names: Check = (value) =>
  isList(value) && value.every((name) => typeof name === 'string') ? undefined : 'needs a list of names';

const all = (check: Check, keys: string): Readonly<Record<string, Check>> =>
  Object.fromEntries(keys.split(' ').map((key) => [key, check]));

const KEYWORDS: Readonly<Record<string, Check>> = {
  ...all(number, 'maximum exclusiveMaximum minimum exclusiveMinimum'),
  ...all(count, 'maxLength minLength maxItems minItems maxContains minContains maxProperties minProperties'),
  ...all(schema, 'items contains additionalProperties propertyNames not if then else'),
  ...all(schemas, 'prefixItems allOf anyOf oneOf'),
  ...all(schemasByName, 'properties dependentSchemas $defs'),
  type: (value) =>
    (isList(value) ? value : [value]).every((type) => TYPES.includes(type))
      ? undefined
      : 'names no type of JSON',
  enum: (value) => (isList(value) ? undefined : 'needs a list of values'),
  multipleOf: (value) => (typeof value === 'number' && value > 0 ? undefined : 'needs a number above 0'),
  uniqueItems: (value) => (typeof value === 'boolean' ? undefined : 'needs true or false'),
  required: names,
  dependentRequired: (value, look) =>
    isObject(value)
      ? firstOf(Object.values(value), (each) => names(each, look))
      : 'needs an object of lists of names',
  pattern: (value, { pattern }) => (typeof value === 'string' ? pattern(value) : 'needs a pattern'),
  patternProperties: (value, look) =>
    isObject(value)
      ? (firstOf(Object.keys(value), look.pattern) ?? schemasByName(value, look))
      : 'needs an object of schemas',
  $schema: (value) =>
    typeof value === 'string' && DIALECT.test(value) ? undefined : 'must be JSON Schema 2020-12',
  $ref: (value, { root, inner }) => {
    const found = typeof value === 'string' ? schemaAt(root, value) : undefined;
    return found === undefined ? 'names no schema in this document' : inner(found, '');
  },
};

/** The schemas that apply to the same value as this one. */
const inPlaceOf = (schemaObject: JsonObject, root: JsonObject): readonly Json[] => {
  const lists = IN_PLACE_LISTS.flatMap((key) => {
    const list = schemaObject[key];
    return list !== undefined && isList(list) ? list : [];
  });
  const { $ref: reference, dependentSchemas } = schemaObject;
  const named = typeof reference === 'string' ? schemaAt(root, reference) : undefined;
  return [
    ...lists,
    ...IN_PLACE.flatMap((key) => schemaObject[key] ?? []),
    ...(isObject(dependentSchemas) ? Object.values(dependentSchemas) : []),
    ...(named === undefined ? [] : [named]),
  ];
};

/** Whether a schema refers to itself without a step into the value. */
const isEndless = (root: JsonObject, all: Iterable<JsonObject>): boolean => {
  const states = new Map<JsonObject, 'open' | 'done'>();
  const circles = (each: Json): boolean => {
    if (!isObject(each)) return false;
    const state = states.get(each);
    if (state !== undefined) return state === 'open';
    states.set(each, 'open');
    const found = inPlaceOf(each, root).some(circles);
    states.set(each, 'done');
    return found;
  };
  return [...all].some(circles);
};

/** Why arguments cannot be checked by a schema; undefined if they can. */
export const schemaProblem = (root: JsonObject): string | undefined => {
  if (Buffer.byteLength(canonicalJson(root)) > SCHEMA_MAX_BYTES)
    return `it has more than ${String(SCHEMA_MAX_BYTES)} bytes`;
  const seen = new Set<JsonObject>();
  const patterns = new Set<string>();
  const pattern = (source: string): string | undefined => {
    patterns.add(source);
    if (patterns.size > PATTERNS_MAX) return `is one of more than ${String(PATTERNS_MAX)} patterns`;
    return isPattern(source) ? undefined : 'needs a pattern without look-around and back-references (RE2)';
  };
  const examine = (value: Json, path: string): string | undefined => {
    if (!isSchema(value)) return `${path}: needs a schema`;
    if (typeof value === 'boolean' || seen.has(value)) return undefined;
    seen.add(value);
    return firstOf(Object.entries(value), ([key, content]) => {
      const at = `${path}/${key}`;
      if (Object.hasOwn(UNSUPPORTED, key)) return `${at}: not supported, ${UNSUPPORTED[key] ?? ''}`;
      const check = Object.hasOwn(KEYWORDS, key) ? KEYWORDS[key] : undefined;
      const inner = (each: Json, place: string): string | undefined => examine(each, `${at}${place}`);
      const problem = check?.(content, { root, path: at, inner, pattern });
      return problem === undefined || problem.startsWith('/') ? problem : `${at}: ${problem}`;
    });
  };
  return (
    examine(root, '') ?? (isEndless(root, seen) ? '$ref: a schema refers to itself without end' : undefined)
  );
};
