import { errorBody } from '@holdpoint/contracts/values/errors';
import type { StepInput } from '@holdpoint/contracts/task/step';
import { z } from 'zod';
import { type Environment, isDeclarable } from '../../adapters/process/command-env.ts';
import { CleanFailure, type Secrets } from '../../ports/capability.ts';

const VARIABLES_MAX = 100;
const VALUE_CHARACTERS_MAX = 32_768;

const Value = z
  .union([z.string(), z.number().transform(String), z.boolean().transform(String)])
  .refine((value) => value.length <= VALUE_CHARACTERS_MAX && !value.includes('\0'));
const Declared = z
  .record(z.string().refine(isDeclarable), Value)
  .refine((env) => Object.keys(env).length <= VARIABLES_MAX);

const EXPECTED =
  'env: expected names and texts, as an object or as JSON, and no name that begins with HOLDPOINT_, GIT_, LD_ or DYLD_, nor PATH';

const invalid = (problem: string): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_INVALID_ARGUMENTS', problem));

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid(EXPECTED);
  }
};

/**
 * The variables that a step declares for its scripts under `env`: an object, or the same as JSON, which is how a template writes
 * it. Secrets that are named in a value are filled in. Throws `CleanFailure`.
 */
export const declaredEnv = (input: StepInput, secrets: Secrets, use: string): Environment => {
  const given = Object.hasOwn(input.with, 'env') ? input.with['env'] : undefined;
  if (given === undefined || given === '') return {};
  const { success, data } = Declared.safeParse(typeof given === 'string' ? parse(given) : given);
  if (!success) throw invalid(EXPECTED);
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, secrets.fill(value, use)]));
};

/** Whoever is on the machine sees the arguments of a program, and a script is one. */
export const withoutSecrets = (script: string): string => {
  if (!script.includes('${secret:')) return script;
  throw invalid('a secret is named in a script: declare a variable for it under env, and use that');
};
