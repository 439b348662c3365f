import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { LogStream } from '@holdpoint/contracts/task/log';
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
  readonly secrets: Secrets;
  /** Shows a line of output to whoever watches. It never waits and never fails; nothing is decided by it. */
  readonly say: (stream: LogStream, line: string) => void;
};

/** Hides secrets in bytes, wherever they are split. What may begin a secret is held back for a moment. */
export type HiddenStream = {
  readonly add: (chunk: Buffer) => Buffer;
  /** What is still held back when nothing more comes. */
  readonly end: () => Buffer;
};

/** Secrets are named in arguments, and filled in by the executor right before they are used. */
export interface Secrets {
  /**
   * Replaces every `${secret:NAME}`. `use` is what they are for: the origin of a target, or the label of a capability. Throws
   * `CleanFailure` (`EXECUTOR_SECRET_UNKNOWN`, `EXECUTOR_SECRET_NOT_ALLOWED`). What was filled in is hidden in all that the
   * start prints and gives.
   */
  fill(text: string, use: string): string;
  /** What hides secrets in output that comes in pieces. Made once everything has been filled in. */
  readonly hiddenStream?: () => HiddenStream;
}

/**
 * Does one thing to the world and says honestly what it knows. Returning means applied. `CleanFailure` means that
 * certainly nothing happened. Any other error means that nobody can know; `OutcomeUnknown` says why.
 */
export interface Capability<Schema extends z.ZodType = z.ZodType> {
  readonly uses: string;
  readonly input: Schema;
  /** What outside it talks to, such as an origin: what limits and circuit breakers count by. */
  target?(input: z.output<Schema>): string | undefined;
  /** Shows what `run` would do; ordered as work, under `<uses>.preview`. */
  preview?(input: z.output<Schema>, context: EffectContext): Promise<JsonObject>;
  run(input: z.output<Schema>, context: EffectContext): Promise<JsonObject>;
  /** Looks whether the effect was applied, and changes nothing. An error means that it cannot be known. */
  probe?(input: z.output<Schema>, context: EffectContext): Promise<ProbeResult>;
  /** Takes back what `run` did; an effect of its own, ordered under `<uses>.compensate`. */
  compensate?(done: AppliedEffect<z.output<Schema>>, context: EffectContext): Promise<JsonObject>;
}

/** What the target says of an effect. */
export type ProbeResult =
  | { readonly found: 'applied'; readonly reason: string; readonly outputs?: JsonObject }
  | { readonly found: 'not_applied' | 'unknown'; readonly reason: string };

/** An effect that was applied, and is to be taken back. */
export type AppliedEffect<Input> = {
  readonly effectId: string;
  readonly input: Input;
  readonly outputs: JsonObject;
};

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
