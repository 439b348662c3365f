import type { Json } from '@holdpoint/contracts/values/json';
import { z } from 'zod';

/** How an error says which words are known, so that the nearest one can be found. */
export const KNOWN = 'one of: ';

/** A table that takes the keys of its shape and no others. */
export const table = <Shape extends z.core.$ZodShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: ({ code }) =>
      code === 'unrecognized_keys' ? `${KNOWN}${Object.keys(shape).join(', ')}` : undefined,
  });

/** What TOML and JSON have for a single value. */
export type Scalar = string | boolean | number;

export const isScalar = (value: unknown): value is Scalar =>
  typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value);

export const Scalar = z.custom<Scalar>(isScalar, 'a string, a boolean or a whole number');
/** That it is JSON was seen when the file was read. */
export const AnyJson = z.custom<Json>((value) => value !== undefined, 'a value');
