import type fc from 'fast-check';

/** `accepted`, or the code or name of a refusal. */
export type Outcome = string;

/**
 * A consumer of untrusted input. Inputs are plain JSON, so that the corpus can hold them. `check` throws when
 * a promise is broken.
 */
export type Target<Input> = {
  /** The name of its corpus folder. */
  readonly name: string;
  /** The generators, such as `command/task.submit` for a message of the catalogue. */
  readonly cases: Readonly<Record<string, fc.Arbitrary<Input>>>;
  readonly runs: number;
  /** Outcomes that every case must reach: a generator that never gets there finds nothing. */
  readonly reaches: readonly Outcome[];
  readonly check: (input: Input) => Outcome | Promise<Outcome>;
  /** Releases what the checks have started. */
  readonly end?: () => Promise<void>;
};

export type AnyTarget = Target<unknown>;

/** The table holds targets of every input type. Each gets only its own inputs. */
export const target = <Input>(it: Target<Input>): AnyTarget => it as unknown as AnyTarget;
