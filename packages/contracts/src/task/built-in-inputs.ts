import { z } from 'zod';
import { HttpRequest } from '../effect/http-request.ts';
import type { JsonObject } from '../values/json.ts';

const Text = z.string({ error: 'a text' }).optional();

/** Inputs of the built-in workflow `sample`. */
export const SampleInputs = z.object({ file: Text, line: Text });

const Keyed = z.object({ keyed: z.boolean({ error: 'true or false' }).optional() });

/** Every unknown, missing or invalid input, in words of the submitter. */
const problemsIn = (inputs: JsonObject, ...schemas: readonly z.ZodObject[]): readonly string[] => {
  const known = schemas.flatMap(({ shape }) => Object.keys(shape));
  const issues = schemas.flatMap((schema) => schema.safeParse(inputs).error?.issues ?? []);
  const wrong = issues.map(({ path, message }) => {
    const [name = '', ...rest] = path.map(String);
    if (!Object.hasOwn(inputs, name)) return `input ${name} is missing`;
    return `input ${[name, ...rest].join('.')}: ${message}`;
  });
  const unknown = Object.keys(inputs)
    .filter((name) => !known.includes(name))
    .map((name) => `unknown input ${name}; known: ${known.join(', ')}`);
  return [...wrong, ...unknown];
};

export const sampleProblems = (inputs: JsonObject): readonly string[] => problemsIn(inputs, SampleInputs);

/** Inputs of the built-in workflow `http`: those of a request, and `keyed`. */
export const httpProblems = (inputs: JsonObject): readonly string[] => problemsIn(inputs, HttpRequest, Keyed);
