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
  'env: expected an object of texts (or JSON); HOLDPOINT_*, GIT_*, LD_*, DYLD_* and PATH are not allowed';

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
 * The variables that a step declares under `env`: an object, or JSON, as templates write it. Named secrets are
 * filled in. Throws `CleanFailure`.
 */
export const declaredEnv = (input: StepInput, secrets: Secrets, use: string): Environment => {
  const given = Object.hasOwn(input.with, 'env') ? input.with['env'] : undefined;
  if (given === undefined || given === '') return {};
  const { success, data } = Declared.safeParse(typeof given === 'string' ? parse(given) : given);
  if (!success) throw invalid(EXPECTED);
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, secrets.fill(value, use)]));
};

/** Every user of the machine can see the arguments of a process, and a script is one. */
export const withoutSecrets = (script: string): string => {
  if (!script.includes('${secret:')) return script;
  throw invalid('Secrets are not allowed in scripts: declare a variable under env instead');
};
