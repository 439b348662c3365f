import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { LogStream } from '@holdpoint/contracts/task/log';
import type { z } from 'zod';

/** The context of one start of an effect. */
export type EffectContext = {
  /** The same for every attempt: a keyed target remembers it. */
  readonly effectId: string;
  /** The admitted order. */
  readonly order: RunEffect;
  /** Rises with every start and every doubt: a fenced target compares it. */
  readonly epoch: number;
  /** Aborted when the effect is cancelled or the executor stops. */
  readonly signal: AbortSignal;
  /** Throws `CleanFailure` once the lease may be over. Call it right before anything leaves the process. */
  readonly assertInForce: () => void;
  readonly secrets: Secrets;
  /** Prints a line of output. It never waits and never fails, and has no influence on the outcome. */
  readonly say: (stream: LogStream, line: string) => void;
};

/** Hides secrets in a stream of bytes, wherever the chunks split. Bytes that may begin a secret are delayed. */
export type HiddenStream = {
  readonly add: (chunk: Buffer) => Buffer;
  /** Returns the delayed bytes at the end of the stream. */
  readonly end: () => Buffer;
};

/** Arguments name secrets; the executor fills them in right before they are used. */
export interface Secrets {
  /**
   * Replaces every `${secret:NAME}`. `use` is the purpose: the origin of a target, or the label of a capability. Throws
   * `CleanFailure` (`EXECUTOR_SECRET_UNKNOWN`, `EXECUTOR_SECRET_NOT_ALLOWED`). Filled secrets are hidden in all output and
   * results of the start.
   */
  fill(text: string, use: string): string;
  /** Hides the filled secrets in chunked output. Call it after all secrets are filled in. */
  readonly hiddenStream?: () => HiddenStream;
}

/**
 * Acts on the world and reports only certain results. Returning means applied. `CleanFailure` means that certainly nothing
 * happened. Any other error means that the outcome is unknown; `OutcomeUnknown` says why.
 */
export interface Capability<Schema extends z.ZodType = z.ZodType> {
  readonly uses: string;
  readonly input: Schema;
  /** The outside system that it calls, such as an origin. Limits and circuit breakers count by it. */
  target?(input: z.output<Schema>): string | undefined;
  /** Shows what `run` would do; ordered as work, under `<uses>.preview`. */
  preview?(input: z.output<Schema>, context: EffectContext): Promise<JsonObject>;
  run(input: z.output<Schema>, context: EffectContext): Promise<JsonObject>;
  /** Finds out whether the effect was applied, and changes nothing. An error means unknown. */
  probe?(input: z.output<Schema>, context: EffectContext): Promise<ProbeResult>;
  /** Undoes `run`. It is an effect of its own, ordered under `<uses>.compensate`. */
  compensate?(done: AppliedEffect<z.output<Schema>>, context: EffectContext): Promise<JsonObject>;
}

export type ProbeResult =
  | { readonly found: 'applied'; readonly reason: string; readonly outputs?: JsonObject }
  | { readonly found: 'not_applied' | 'unknown'; readonly reason: string };

/** The effect that a compensation undoes. */
export type AppliedEffect<Input> = {
  readonly effectId: string;
  readonly input: Input;
  readonly outputs: JsonObject;
};

/** Certainly nothing happened. */
export class CleanFailure extends Error {
  override readonly name = 'CleanFailure';
  readonly body: ErrorBody;

  constructor(body: ErrorBody, cause?: unknown) {
    super(body.message, cause === undefined ? undefined : { cause });
    this.body = body;
  }
}

/** It left the process, and its outcome is unknown. `message` tells the operator why, and contains no secrets. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}
