import type { StepInput } from '@holdpoint/contracts/task/step';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { CleanFailure } from '../../ports/capability.ts';

/** An argument as text; empty counts as not given. Numbers and booleans of TOML become texts. */
export const argOf = (input: StepInput, ...names: readonly string[]): string | undefined => {
  for (const name of names) {
    const value = Object.hasOwn(input.with, name) ? input.with[name] : undefined;
    if (typeof value === 'number' || typeof value === 'boolean') return String(value);
    if (typeof value === 'string' && value.trim() !== '') return value;
  }
  return undefined;
};

export const invalid = (problem: string): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_INVALID_ARGUMENTS', problem));
