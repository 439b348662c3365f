import { InputField } from '@holdpoint/contracts/workflow/input';
import { z } from 'zod';

/** The JSON Schema of one form field. */
type FieldSchema = {
  readonly type?: unknown;
  readonly enum?: unknown;
  readonly const?: unknown;
  readonly title?: string;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
};

const TEXTS = new Set([
  'type',
  'maxLength',
  'minLength',
  'pattern',
  'format',
  'title',
  'description',
  'default',
]);
const NUMBERS = new Set([
  'type',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'title',
  'description',
  'default',
]);
const MULTILINE_FROM = 200;

const isTexts = (values: unknown): values is readonly string[] =>
  Array.isArray(values) && values.every((value) => typeof value === 'string');

const knows = (schema: FieldSchema, known: ReadonlySet<string>): boolean =>
  Object.keys(schema).every((key) => known.has(key));

/** `undefined`: a form cannot show the field. */
const shapeOf = (schema: FieldSchema): object | undefined => {
  const { type, maximum, minimum, maxLength } = schema;
  const values = schema.enum ?? (typeof schema.const === 'string' ? [schema.const] : undefined);
  if (isTexts(values)) return { type: 'choice', options: values.map((value) => ({ value, label: value })) };
  if (type === 'boolean') return { type: 'boolean' };
  if (type === 'string' && knows(schema, TEXTS))
    return {
      type: 'text',
      ...(maxLength !== undefined && { maxLength }),
      ...((maxLength ?? 0) > MULTILINE_FROM && { multiline: true }),
    };
  if ((type === 'number' || type === 'integer') && knows(schema, NUMBERS))
    return {
      type: 'number',
      ...(type === 'integer' && { integer: true }),
      // zod adds its own limits to every integer; the author did not set them.
      ...(minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER && { min: minimum }),
      ...(maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER && { max: maximum }),
    };
  return undefined;
};

const fieldOf = (name: string, schema: FieldSchema, required: boolean): InputField => {
  const shape = shapeOf(schema);
  if (shape === undefined)
    throw new TypeError(
      `the field ${name} of the form must be a string, a number, a boolean or an enum of strings`,
    );
  const field = InputField.safeParse({
    ...shape,
    name,
    required,
    ...(schema.title !== undefined && { label: schema.title }),
    ...(schema.description !== undefined && { help: schema.description }),
  });
  if (field.success) return field.data;
  throw new TypeError(`the field ${name} of the form: ${z.prettifyError(field.error)}`);
};

const FIELDS_MAX = 25;

/**
 * The fields of a form from its schema. `meta({ title, description })` sets label and help. Throws
 * `TypeError` for fields that some surface cannot show.
 */
export const fieldsOf = (schema: z.ZodObject): readonly InputField[] => {
  let json: { properties?: Readonly<Record<string, FieldSchema>>; required?: readonly string[] };
  try {
    json = z.toJSONSchema(schema, { io: 'input' }) as typeof json;
  } catch (cause) {
    throw new TypeError('the form has fields that no surface can show', { cause });
  }
  const { properties = {}, required = [] } = json;
  const fields = Object.entries(properties).map(([name, field]) =>
    fieldOf(name, field, required.includes(name)),
  );
  if (fields.length === 0 || fields.length > FIELDS_MAX)
    throw new TypeError(`a form has 1 to ${String(FIELDS_MAX)} fields, not ${String(fields.length)}`);
  return fields;
};
