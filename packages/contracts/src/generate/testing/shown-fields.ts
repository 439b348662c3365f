/** The subset of JSON Schema in the generated schemas. */
export type FieldSchema = {
  readonly $ref?: string;
  readonly anyOf?: readonly FieldSchema[];
  readonly oneOf?: readonly FieldSchema[];
  readonly const?: unknown;
  readonly type?: string;
  readonly items?: FieldSchema;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly additionalProperties?: FieldSchema | boolean;
};

/** Object alternatives of a schema. Plain values and references to any JSON need no separate example. */
const choicesOf = ({ $ref, anyOf, oneOf }: FieldSchema): readonly FieldSchema[] =>
  $ref === undefined ? (anyOf ?? oneOf ?? []).filter(({ properties }) => properties !== undefined) : [];

/** Name of an alternative by its constants, independent of its position. */
const nameOf = ({ properties = {} }: FieldSchema): string => {
  const constants = Object.values(properties).flatMap((field) =>
    'const' in field ? [String(field.const)] : [],
  );
  return `<${constants.join('/')}>`;
};

/** Every path of a schema that examples must cover: fields, items, and each object alternative. */
export const fieldsOf = (schema: FieldSchema): readonly string[] => [...new Set(allFieldsOf(schema, ''))];

const allFieldsOf = (schema: FieldSchema, path: string): readonly string[] => {
  const inner = (at: string, of: FieldSchema): readonly string[] => [at, ...allFieldsOf(of, at)];
  const { properties = {}, items, additionalProperties } = schema;
  return [
    ...choicesOf(schema).flatMap((choice) => inner(nameOf(choice), choice)),
    ...Object.entries(properties).flatMap(([key, of]) => inner(`${path}.${key}`, of)),
    ...(items === undefined ? [] : inner(`${path}[]`, items)),
    ...(typeof additionalProperties === 'object' ? inner(`${path}{}`, additionalProperties) : []),
  ];
};

const isOfType = (type: string | undefined, value: unknown): boolean => {
  switch (type) {
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'array':
      return Array.isArray(value);
    case 'null':
      return value === null;
    case 'integer':
      return typeof value === 'number';
    default:
      return type === undefined || typeof value === type;
  }
};

const valueAt = (value: unknown, key: string): unknown => (value as Readonly<Record<string, unknown>>)[key];

/** Whether a valid value belongs to this alternative, by its type and constants. */
const isOfChoice = (choice: FieldSchema, value: unknown): boolean =>
  isOfType(choice.type, value) &&
  Object.entries(choice.properties ?? {}).every(
    ([key, field]) => !('const' in field) || valueAt(value, key) === field.const,
  );

/** The covered paths of a valid value. */
export const shownFields = (schema: FieldSchema, value: unknown, path = ''): readonly string[] => {
  const inner = (at: string, of: FieldSchema, found: unknown): readonly string[] => [
    at,
    ...shownFields(of, found, at),
  ];
  const choices = choicesOf(schema).filter((choice) => isOfChoice(choice, value));
  if (choices.length > 0) return choices.flatMap((choice) => inner(nameOf(choice), choice, value));
  const { properties = {}, items, additionalProperties } = schema;
  if (Array.isArray(value))
    return items === undefined ? [] : value.flatMap((each) => inner(`${path}[]`, items, each));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, found]) => {
    const field = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (field !== undefined) return inner(`${path}.${key}`, field, found);
    return typeof additionalProperties === 'object' ? inner(`${path}{}`, additionalProperties, found) : [];
  });
};
