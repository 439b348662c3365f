import { InvalidArgumentError } from 'commander';

/** What a command line says about the parameters of a flow, in the order in which it was said. */
export type Inputs = {
  readonly positional: readonly string[];
  /** By the name that the flow's `[cli]` gives a parameter, or by the parameter's own. */
  readonly named: readonly Input[];
  /** `--set`: by the parameter's own name. */
  readonly set: readonly Input[];
};
export type Input = readonly [name: string, value: string];

/** Adds `name=value` to those before it. */
export const collectPair = (text: string, before: readonly Input[] = []): readonly Input[] => {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('name=value');
  return [...before, [text.slice(0, at), text.slice(at + 1)]];
};
