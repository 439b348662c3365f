import type { RunEffect } from '@holdpoint/contracts/effect';
import type { ErrorBody } from '@holdpoint/contracts/errors';
import type { JsonObject } from '@holdpoint/contracts/json';
import type { LogStream } from '@holdpoint/contracts/log';
import type { z } from 'zod';

/** What an effect is carried out with. */
export type EffectContext = {
  /** The same for every attempt at this effect: what a keyed target remembers. */
  readonly effectId: string;
  /** What is carried out, as it was admitted. */
  readonly order: RunEffect;
  /** Rises with every start and every doubt: what a fenced target compares. */
  readonly epoch: number;
  /** Ends when the effect is cancelled or the executor stops. */
  readonly signal: AbortSignal;
  /** Throws `CleanFailure` once the lease may be over. Called right before anything leaves the process. */
  readonly assertInForce: () => void;
  /** Shows a line of output to whoever watches. It never waits and never fails; nothing is decided by it. */
  readonly say: (stream: LogStream, line: string) => void;
};

/**
 * Does one thing to the world and says honestly what it knows. Returning means applied. `CleanFailure` means that
 * certainly nothing happened. Any other error means that nobody can know; `OutcomeUnknown` says why.
 */
export interface Capability<Schema extends z.ZodType = z.ZodType> {
  readonly uses: string;
  readonly input: Schema;
  run(input: z.output<Schema>, context: EffectContext): Promise<JsonObject>;
}

/** It is certain that nothing happened. */
export class CleanFailure extends Error {
  override readonly name = 'CleanFailure';
  readonly body: ErrorBody;

  constructor(body: ErrorBody, cause?: unknown) {
    super(body.message, cause === undefined ? undefined : { cause });
    this.body = body;
  }
}

/** It left, and what came of it cannot be known. `message` says why to whoever has to decide, and tells nothing secret. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}
