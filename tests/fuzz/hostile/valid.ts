import fc from 'fast-check';
import type { z } from 'zod';
import { NASTY, storableString } from './strings.ts';

/** The part of JSON Schema that the generated schemas use. */
type Schema = {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly propertyNames?: Schema;
};

const KEYS: fc.Arbitrary<string> = fc.oneof(
  storableString,
  fc.constantFrom('file', 'line', 'constructor', '__proto__'),
);

/** Defines each key: an assignment to `__proto__` would add none. */
const objectOf = (
  value: fc.Arbitrary<unknown>,
  maxKeys: number,
  keys: fc.Arbitrary<string> = KEYS,
): fc.Arbitrary<object> =>
  fc
    .uniqueArray(fc.tuple(keys, value), { maxLength: maxKeys, selector: ([key]) => key })
    .map((entries) => Object.fromEntries(entries));

const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.oneof(
      storableString,
      fc.constantFrom(null, true, false, 0, -0, -1, 1e21, 5e-324, Number.MAX_VALUE, 2 ** 53, 0.1),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
    ),
    fc.array(tie('json'), { maxLength: 3 }),
    objectOf(tie('json'), 3),
  ),
}));

const within = (schema: Schema): ((text: string) => string | undefined) => {
  const { minLength = 0, maxLength = Infinity } = schema;
  return (text) => {
    const cut = text.slice(0, maxLength).toWellFormed();
    return cut.length >= minLength ? cut : undefined;
  };
};

const stringOf = (schema: Schema): fc.Arbitrary<string> => {
  if (schema.pattern !== undefined) {
    const pattern = new RegExp(schema.pattern);
    const nasty = NASTY.filter((text) => pattern.test(text));
    const made = fc.stringMatching(pattern);
    return nasty.length === 0 ? made : fc.oneof({ weight: 3, arbitrary: made }, fc.constantFrom(...nasty));
  }
  const { maxLength } = schema;
  const longest = maxLength === undefined || maxLength > 5_000 ? [] : [fc.constant('x'.repeat(maxLength))];
  return fc
    .oneof({ weight: 8, arbitrary: storableString }, ...longest)
    .map((text) => within(schema)(text) ?? 'x'.repeat(schema.minLength ?? 0));
};

const integerOf = ({
  minimum = Number.MIN_SAFE_INTEGER,
  maximum = Number.MAX_SAFE_INTEGER,
}: Schema): fc.Arbitrary<number> =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.integer({
        min: Math.max(minimum, -5),
        max: Math.min(maximum, Math.max(minimum, 0) + 100),
      }),
    },
    fc.constantFrom(minimum, maximum),
    fc.maxSafeInteger().map((value) => Math.min(maximum, Math.max(minimum, value))),
  );

const numberOf = ({
  exclusiveMinimum = -Number.MAX_VALUE,
  minimum = exclusiveMinimum,
  maximum = Number.MAX_VALUE,
}: Schema): fc.Arbitrary<number> =>
  fc
    .double({ min: minimum, max: maximum, noNaN: true, noDefaultInfinity: true })
    .filter((value) => minimum !== exclusiveMinimum || value > minimum);

type Definitions = Readonly<Record<string, Schema>>;

const URLS: fc.Arbitrary<string> = fc.webUrl({ validSchemes: ['http', 'https'] });

/** JSON Schema does not say that a text is a URL, and random text never is one. */
const fieldOf = (name: string, schema: Schema, definitions: Definitions): fc.Arbitrary<unknown> => {
  const made = fromSchema(schema, definitions);
  return name === 'url' && schema.type === 'string' ? fc.oneof({ weight: 3, arbitrary: URLS }, made) : made;
};

const recordOf = (schema: Schema, definitions: Definitions): fc.Arbitrary<object> => {
  const { properties = {}, required = [], additionalProperties, propertyNames } = schema;
  const known = fc.record(
    Object.fromEntries(Object.entries(properties).map(([key, of]) => [key, fieldOf(key, of, definitions)])),
    { requiredKeys: [...required] },
  );
  if (typeof additionalProperties !== 'object') return known;
  // With a fixed set of names, random text would rarely match.
  const named = propertyNames?.enum?.map(String);
  const keys = named === undefined ? KEYS : fc.constantFrom(...named);
  const others = objectOf(fromSchema(additionalProperties, definitions), 4, keys);
  return fc
    .tuple(others, known)
    .map(([other, own]) => Object.fromEntries([...Object.entries(other), ...Object.entries(own)]));
};

const fromSchema = (schema: Schema, definitions: Definitions): fc.Arbitrary<unknown> => {
  if (schema.$ref !== undefined) {
    // The only recursive type of the contracts is JSON itself.
    const { anyOf = [] } = definitions[schema.$ref.split('/').at(-1) ?? ''] ?? {};
    if (!anyOf.some(({ type }) => type === 'null')) throw new Error(`${schema.$ref} is not any JSON value`);
    return json;
  }
  const { type } = schema;
  const types =
    typeof type === 'object' ? type.map((each): Schema => ({ ...schema, type: each })) : undefined;
  const choices = schema.anyOf ?? schema.oneOf ?? types;
  if (choices !== undefined) return fc.oneof(...choices.map((choice) => fromSchema(choice, definitions)));
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  switch (type) {
    case 'string':
      return stringOf(schema);
    case 'integer':
      return integerOf(schema);
    case 'number':
      return numberOf(schema);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array': {
      const { items = {}, minItems = 0, maxItems = 5 } = schema;
      const maxLength = Math.max(minItems, Math.min(maxItems, 5));
      return fc.array(fromSchema(items, definitions), { minLength: minItems, maxLength });
    }
    case 'object':
      return recordOf(schema, definitions);
    default:
      throw new Error(`this generator does not know ${JSON.stringify(schema)}`);
  }
};

/** More refusals in a row than any schema with a fitting generator has. */
const REFUSED_MAX = 10_000;

/**
 * Values that a schema accepts, from its JSON Schema. The schema itself filters the rest.
 * Throws for a schema that refuses everything generated: the filter would search for ever.
 */
export const validFor = (
  schema: z.ZodType,
  jsonSchema: Readonly<Record<string, unknown>>,
): fc.Arbitrary<unknown> => {
  const described = jsonSchema as Schema;
  let refused = 0;
  return fromSchema(described, described.$defs ?? {}).filter((value) => {
    const { success, error } = schema.safeParse(value);
    refused = success ? 0 : refused + 1;
    if (refused === REFUSED_MAX)
      throw new Error(
        `the schema refuses ${String(refused)} generated values in a row; the last one because: ${error?.message ?? ''}`,
      );
    return success;
  });
};
