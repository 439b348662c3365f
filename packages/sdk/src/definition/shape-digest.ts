import { digestOf } from '@holdpoint/contracts/values/json';
import { z } from 'zod';

type Seen = ReadonlySet<object>;

const isSchema = (value: object): value is z.ZodType => '_zod' in value;

/** A specification as JSON: schemas as JSON Schema, and of each function only that there is one. */
const written = (value: unknown, within: Seen): unknown => {
  if (typeof value === 'function') return { function: true };
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? String(value) : value;
  if (within.has(value)) return null;
  if (isSchema(value)) return { schema: z.toJSONSchema(value, { io: 'input', unrepresentable: 'any' }) };
  const inside = new Set([...within, value]);
  if (Array.isArray(value)) return value.map((each) => written(each, inside) ?? null);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, each]) => each !== undefined)
      .map(([name, each]) => [name, written(each, inside)]),
  );
};

/**
 * SHA-256 of a workflow's declared shape. Source text has no part in it: compilers, bundlers and minifiers change it, and
 * the client would name another version than the worker runs.
 */
export const shapeDigest = (spec: object): string => digestOf(written(spec, new Set()));
