import type { FailureClass } from '@holdpoint/contracts/workflow/failure-class';

/** A small project that fails, and the command to run in it. The recorded output is public. */
export type Case = {
  /** Name of the sample file. */
  readonly name: string;
  /** The command that prints the tool's version. */
  readonly tool: readonly [program: string, ...args: string[]];
  readonly files: Readonly<Record<string, string>>;
  /** Runs before the recorded command. */
  readonly prepare?: readonly (readonly [program: string, ...args: string[]])[];
  readonly run: readonly [program: string, ...args: string[]];
  readonly env?: Readonly<Record<string, string>>;
  readonly class: FailureClass;
};

/** By folder of the samples. */
export type Cases = Readonly<Record<string, readonly Case[]>>;

/** Tools are installed by a package manager into every project. */
export const bin = (name: string): string => `node_modules/.bin/${name}`;
