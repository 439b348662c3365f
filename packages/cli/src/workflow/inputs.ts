import { InvalidArgumentError } from 'commander';

/** The inputs of a command line, in order. */
export type Inputs = {
  readonly positional: readonly string[];
  /** By the name in the workflow's `[cli]` section, or by the parameter's name. */
  readonly named: readonly Input[];
  /** `--set`: by the parameter's name. */
  readonly set: readonly Input[];
};
export type Input = readonly [name: string, value: string];

export const collectPair = (text: string, before: readonly Input[] = []): readonly Input[] => {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('name=value');
  return [...before, [text.slice(0, at), text.slice(at + 1)]];
};
