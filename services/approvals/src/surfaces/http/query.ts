import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { z } from 'zod';

const NUMBER = /^-?\d{1,15}$/;

const invalid = (name: string, problem: string): HoldpointError =>
  new HoldpointError('CONTRACT_INVALID', `${name.slice(0, 100).toWellFormed()}: ${problem}`);

const innermost = (schema: z.core.$ZodType): z.core.$ZodType =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? innermost(schema.unwrap()) : schema;

const valueOf = (schema: z.core.$ZodType, name: string, texts: readonly string[]): unknown => {
  const field = innermost(schema);
  if (field instanceof z.ZodArray) return texts;
  const [text = '', ...more] = texts;
  if (more.length > 0) throw invalid(name, 'given more than once');
  // A text that is no number is kept: the contract has the better error.
  return field instanceof z.ZodNumber && NUMBER.test(text) ? Number(text) : text;
};

/**
 * Fields of a query string by their contract; a list repeats its name. Throws `CONTRACT_INVALID` for an
 * unknown name: a misspelt filter must not be ignored.
 */
export const fieldsOf = (schema: z.ZodType, query: URLSearchParams): Readonly<Record<string, unknown>> => {
  const shape: Readonly<Record<string, z.core.$ZodType>> = schema instanceof z.ZodObject ? schema.shape : {};
  return Object.fromEntries(
    [...new Set(query.keys())].map((name) => {
      const field = Object.hasOwn(shape, name) ? shape[name] : undefined;
      if (field === undefined) throw invalid(name, 'unknown parameter');
      return [name, valueOf(field, name, query.getAll(name))];
    }),
  );
};
