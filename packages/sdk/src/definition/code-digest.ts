import { digestOf } from '@holdpoint/contracts/values/json';
import { z } from 'zod';

type Seen = ReadonlySet<object>;

const isSchema = (value: object): value is z.ZodType => '_zod' in value;

/** The check functions of a schema, which its JSON Schema omits. */
const checksOf = (value: unknown, seen: Set<object>): readonly string[] => {
  if (typeof value === 'function') return seen.has(value) ? [] : (seen.add(value), [value.toString()]);
  if (typeof value !== 'object' || value === null || seen.has(value)) return [];
  seen.add(value);
  const parts = isSchema(value) ? [value.def] : Object.values(value);
  return parts.flatMap((part: unknown) => checksOf(part, seen));
};

const schemaText = (schema: z.ZodType): unknown => ({
  schema: z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }),
  checks: checksOf(schema, new Set()),
});

/** A specification as JSON: functions as source text, schemas as JSON Schema. */
const written = (value: unknown, within: Seen): unknown => {
  if (typeof value === 'function') return { function: value.toString() };
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? String(value) : value;
  if (within.has(value)) return null;
  if (isSchema(value)) return schemaText(value);
  const inside = new Set([...within, value]);
  if (Array.isArray(value)) return value.map((each) => written(each, inside) ?? null);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, each]) => each !== undefined)
      .map(([name, each]) => [name, written(each, inside)]),
  );
};

/**
 * SHA-256 of a workflow's own code. It does not cover imports and closures; that is the purpose of `build`.
 */
export const codeDigest = (spec: object): string => digestOf(written(spec, new Set()));
