import type { FailureClass } from '@holdpoint/contracts/workflow/failure-class';

/** A little project that fails, and what to run in it. Everything that is written here may be read by anybody. */
export type Case = {
  /** The file that the output is kept in. */
  readonly name: string;
  /** The words of the tool that is asked for its version. */
  readonly tool: readonly [program: string, ...args: string[]];
  readonly files: Readonly<Record<string, string>>;
  /** Run before, and not recorded: what has to be there for the failure to happen. */
  readonly prepare?: readonly (readonly [program: string, ...args: string[]])[];
  readonly run: readonly [program: string, ...args: string[]];
  readonly env?: Readonly<Record<string, string>>;
  readonly class: FailureClass;
};

/** By the folder that the outputs are kept in. */
export type Cases = Readonly<Record<string, readonly Case[]>>;

/** The tools come from a package manager, and lie here in every project. */
export const bin = (name: string): string => `node_modules/.bin/${name}`;
