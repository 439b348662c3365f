import type fc from 'fast-check';

/** What a case came to: `accepted`, or the code, or the name, of the refusal. */
export type Outcome = string;

/**
 * Something that takes what strangers send. An input is plain JSON, so that it can be kept in the corpus as it is.
 * `check` throws when a promise is broken.
 */
export type Target<Input> = {
  /** Names the folder of its corpus. */
  readonly name: string;
  /** What is generated; a message of the catalogue by its kind and name, such as `command/task.submit`. */
  readonly cases: Readonly<Record<string, fc.Arbitrary<Input>>>;
  /** Inputs generated for each case. */
  readonly runs: number;
  /** A generator that never gets there finds nothing: outcomes that every case has to lead to. */
  readonly reaches: readonly Outcome[];
  readonly check: (input: Input) => Outcome | Promise<Outcome>;
  /** Ends what the checks have started. */
  readonly end?: () => Promise<void>;
};

export type AnyTarget = Target<unknown>;

/** The table holds targets of all kinds; each is only ever given what its own generator or its own corpus holds. */
export const target = <Input>(it: Target<Input>): AnyTarget => it as unknown as AnyTarget;
