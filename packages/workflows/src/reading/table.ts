import type { Json } from '@holdpoint/contracts/values/json';
import { z } from 'zod';

/** Marks the known words in a message, so that a suggestion can be found among them. */
export const KNOWN = 'one of: ';

/** A table that accepts only the keys of its shape. */
export const table = <Shape extends z.core.$ZodShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: ({ code }) =>
      code === 'unrecognized_keys' ? `${KNOWN}${Object.keys(shape).join(', ')}` : undefined,
  });

/** The scalar values of TOML and JSON. */
export type Scalar = string | boolean | number;

export const isScalar = (value: unknown): value is Scalar =>
  typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value);

export const Scalar = z.custom<Scalar>(isScalar, 'a string, a boolean or a whole number');
/** The file reader has already checked that it is JSON. */
export const AnyJson = z.custom<Json>((value) => value !== undefined, 'a value');
