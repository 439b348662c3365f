import { canonicalJson, type Json, type JsonObject } from '@holdpoint/contracts/values/json';
import { type Finder, finderOf } from '@holdpoint/contracts/values/pattern';
import { isObject, type Schema, schemaAt } from './schema.ts';

/** Schemas that one check may apply: alternatives within alternatives multiply. */
const STEPS_MAX = 100_000;
const PROBLEMS_MAX = 3;
const PATH_MAX = 100;

class TooManySteps extends Error {}

type Run = {
  readonly root: JsonObject;
  readonly patterns: Map<string, Finder>;
  /** So far. */
  steps: number;
};

const count = (run: Run, steps: number): void => {
  run.steps += steps;
  if (run.steps > STEPS_MAX) throw new TooManySteps();
};

type Problems = Generator<string, void>;

const is: Readonly<Record<string, (value: Json) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  object: isObject,
  array: Array.isArray,
  number: (value) => typeof value === 'number',
  integer: Number.isInteger,
  string: (value) => typeof value === 'string',
};

/** A name is chosen by the requester, so it is cut. */
const below = (path: string, name: string | number): string => {
  const next = typeof name === 'number' ? `${path}[${String(name)}]` : path === '' ? name : `${path}.${name}`;
  return next.length <= PATH_MAX ? next : `${next.slice(0, PATH_MAX).toWellFormed()}…`;
};

const at = (path: string, text: string): string => `${path || '(arguments)'}: ${text}`;

const isAmong = (run: Run, value: Json, values: readonly Json[]): boolean => {
  count(run, values.length);
  const text = canonicalJson(value);
  return values.some((each) => canonicalJson(each) === text);
};

/** 0.3 is a multiple of 0.1, although binary fractions say otherwise. */
const isMultiple = (value: number, of: number): boolean => {
  const times = value / of;
  return Math.abs(times - Math.round(times)) <= 1e-8;
};

const found = (run: Run, pattern: string, text: string): boolean => {
  count(run, 1);
  const find = run.patterns.get(pattern) ?? finderOf([pattern]);
  run.patterns.set(pattern, find);
  return find(text).length > 0;
};

const fits = (run: Run, schema: Schema, value: Json): boolean =>
  problemsIn(run, schema, value, '').next().done === true;

const schemaIn = (schema: JsonObject, key: string): Schema | undefined => schema[key] as Schema | undefined;
const schemasIn = (schema: JsonObject, key: string): readonly Schema[] =>
  (schema[key] ?? []) as readonly Schema[];
const schemasByNameIn = (schema: JsonObject, key: string): Readonly<Record<string, Schema>> =>
  (schema[key] ?? {}) as Readonly<Record<string, Schema>>;
const limitIn = (schema: JsonObject, key: string): number | undefined => schema[key] as number | undefined;

type Limit = readonly [key: string, breaks: (value: number, limit: number) => boolean, text: string];
const AT_LEAST = (value: number, limit: number): boolean => value < limit;
const AT_MOST = (value: number, limit: number): boolean => value > limit;

const NUMBERS: readonly Limit[] = [
  ['minimum', AT_LEAST, 'must be at least'],
  ['maximum', AT_MOST, 'must be at most'],
  ['exclusiveMinimum', (value, limit) => value <= limit, 'must be above'],
  ['exclusiveMaximum', (value, limit) => value >= limit, 'must be below'],
  ['multipleOf', (value, limit) => !isMultiple(value, limit), 'must be a multiple of'],
];
const TEXTS: readonly Limit[] = [
  ['minLength', AT_LEAST, 'characters must be at least'],
  ['maxLength', AT_MOST, 'characters must be at most'],
];
const LISTS: readonly Limit[] = [
  ['minItems', AT_LEAST, 'items must be at least'],
  ['maxItems', AT_MOST, 'items must be at most'],
];
const OBJECTS: readonly Limit[] = [
  ['minProperties', AT_LEAST, 'properties must be at least'],
  ['maxProperties', AT_MOST, 'properties must be at most'],
];

function* limits(all: readonly Limit[], schema: JsonObject, value: number, path: string): Problems {
  for (const [key, breaks, text] of all) {
    const limit = limitIn(schema, key);
    if (limit !== undefined && breaks(value, limit)) yield at(path, `${text} ${String(limit)}`);
  }
}

function* inText(run: Run, schema: JsonObject, value: string, path: string): Problems {
  if (limitIn(schema, 'minLength') !== undefined || limitIn(schema, 'maxLength') !== undefined)
    yield* limits(TEXTS, schema, Array.from(value).length, path);
  const { pattern } = schema;
  if (typeof pattern === 'string' && !found(run, pattern, value))
    yield at(path, `must match the pattern ${pattern.slice(0, PATH_MAX)}`);
}

function* inList(run: Run, schema: JsonObject, value: readonly Json[], path: string): Problems {
  yield* limits(LISTS, schema, value.length, path);
  const first = schemasIn(schema, 'prefixItems');
  const rest = schemaIn(schema, 'items');
  for (const [place, item] of value.entries()) {
    const each = first[place] ?? rest;
    if (each !== undefined) yield* problemsIn(run, each, item, below(path, place));
  }
  if (schema['uniqueItems'] === true && new Set(value.map(canonicalJson)).size < value.length)
    yield at(path, 'items must differ');
  const contains = schemaIn(schema, 'contains');
  if (contains === undefined) return;
  const kept = value.filter((item) => fits(run, contains, item)).length;
  if (kept < (limitIn(schema, 'minContains') ?? 1) || kept > (limitIn(schema, 'maxContains') ?? Infinity))
    yield at(path, `has ${String(kept)} items of the required kind`);
}

function* inProperties(run: Run, schema: JsonObject, value: JsonObject, path: string): Problems {
  const named = schemasByNameIn(schema, 'properties');
  const matched = Object.entries(schemasByNameIn(schema, 'patternProperties'));
  const additional = schemaIn(schema, 'additionalProperties');
  const ofNames = schemaIn(schema, 'propertyNames');
  for (const [name, item] of Object.entries(value)) {
    const place = below(path, name);
    const own = Object.hasOwn(named, name) ? named[name] : undefined;
    const applied = [
      ...(own === undefined ? [] : [own]),
      ...matched.filter(([pattern]) => found(run, pattern, name)).map(([, each]) => each),
    ];
    for (const each of applied) yield* problemsIn(run, each, item, place);
    if (applied.length === 0 && additional === false) yield at(place, 'unknown property');
    else if (applied.length === 0 && additional !== undefined)
      yield* problemsIn(run, additional, item, place);
    if (ofNames !== undefined && !fits(run, ofNames, name)) yield at(place, 'the name is not allowed');
  }
}

function* inObject(run: Run, schema: JsonObject, value: JsonObject, path: string): Problems {
  for (const name of (schema['required'] ?? []) as readonly string[])
    if (!Object.hasOwn(value, name)) yield at(below(path, name), 'is missing');
  const needed = Object.entries((schema['dependentRequired'] ?? {}) as Record<string, readonly string[]>);
  for (const [name, others] of needed)
    for (const other of Object.hasOwn(value, name) ? others : [])
      if (!Object.hasOwn(value, other)) yield at(below(path, other), `is missing beside ${name}`);
  yield* limits(OBJECTS, schema, Object.keys(value).length, path);
  yield* inProperties(run, schema, value, path);
  for (const [name, each] of Object.entries(schemasByNameIn(schema, 'dependentSchemas')))
    if (Object.hasOwn(value, name)) yield* problemsIn(run, each, value, path);
}

/** The keywords that apply schemas to the same value. */
function* inPlace(run: Run, schema: JsonObject, value: Json, path: string): Problems {
  const { $ref: reference } = schema;
  if (typeof reference === 'string')
    yield* problemsIn(run, schemaAt(run.root, reference) ?? false, value, path);
  for (const each of schemasIn(schema, 'allOf')) yield* problemsIn(run, each, value, path);
  const any = schemasIn(schema, 'anyOf');
  if (any.length > 0 && !any.some((each) => fits(run, each, value)))
    yield at(path, 'fits none of the alternatives');
  const one = schemasIn(schema, 'oneOf');
  if (one.length > 0) {
    const fitting = one.filter((each) => fits(run, each, value)).length;
    if (fitting !== 1) yield at(path, `fits ${String(fitting)} of the alternatives instead of one`);
  }
  const not = schemaIn(schema, 'not');
  if (not !== undefined && fits(run, not, value)) yield at(path, 'must not fit a forbidden schema');
  const condition = schemaIn(schema, 'if');
  if (condition === undefined) return;
  const branch = schemaIn(schema, fits(run, condition, value) ? 'then' : 'else');
  if (branch !== undefined) yield* problemsIn(run, branch, value, path);
}

/** Problems one by one, so that an alternative ends at its first. `format` is a note, as the standard says. */
function* problemsIn(run: Run, schema: Schema, value: Json, path: string): Problems {
  count(run, 1);
  if (schema === true) return;
  if (schema === false) {
    yield at(path, 'must be left out');
    return;
  }
  const { type, enum: values } = schema;
  const types = type === undefined ? [] : ([type].flat() as readonly string[]);
  if (types.length > 0 && !types.some((name) => is[name]?.(value) === true)) {
    yield at(path, `must be of type ${types.join(' or ')}`);
    return;
  }
  if (Array.isArray(values) && !isAmong(run, value, values as readonly Json[]))
    yield at(path, 'must be one of the listed values');
  const { const: only } = schema;
  if (only !== undefined && !isAmong(run, value, [only])) yield at(path, 'must be the only allowed value');
  yield* inPlace(run, schema, value, path);
  if (typeof value === 'number') yield* limits(NUMBERS, schema, value, path);
  else if (typeof value === 'string') yield* inText(run, schema, value, path);
  else if (Array.isArray(value)) yield* inList(run, schema, value as readonly Json[], path);
  else if (isObject(value)) yield* inObject(run, schema, value, path);
}

/** Patterns are compiled once for each schema in use. */
const compiled = new WeakMap<JsonObject, Map<string, Finder>>();

/**
 * The first problems of arguments with a schema that `schemaProblem` has accepted, each with its path; none if they fit. Time is
 * bounded for all arguments: patterns match in linear time, and steps are counted.
 */
export const argumentProblems = (schema: JsonObject, args: JsonObject): readonly string[] => {
  const patterns = compiled.get(schema) ?? new Map<string, Finder>();
  compiled.set(schema, patterns);
  const problems = new Set<string>();
  try {
    for (const problem of problemsIn({ root: schema, patterns, steps: 0 }, schema, args, '')) {
      problems.add(problem);
      if (problems.size === PROBLEMS_MAX) break;
    }
  } catch (error) {
    if (!(error instanceof TooManySteps)) throw error;
    return [at('', 'the schema needs too many steps')];
  }
  return [...problems];
};
