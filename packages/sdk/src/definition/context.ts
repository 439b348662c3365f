import type { Draft, Frozen } from './frozen.ts';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { PhaseFailure } from '@holdpoint/contracts/program/work';
import type { ProgramEffect } from '@holdpoint/contracts/program/recording';
import type { StoredArtifact } from '@holdpoint/contracts/effect/stored-artifact';
import type { ReviewText } from '@holdpoint/contracts/workflow/review';
import type { z } from 'zod';

/** A value or a promise of it. */
export type Awaitable<Value> = Value | Promise<Value>;

/** A reference to stored content: its digest, size, media type and name. */
export type ArtifactRef = StoredArtifact;

/** An earlier failed attempt: its number, part of the phase, and error. */
export type EarlierAttempt = PhaseFailure;

/** The error of a phase with the attempt and part. `code` is stable, `message` is not. */
export type PhaseError = ErrorBody &
  Pick<PhaseFailure, 'attempt' | 'stage'> & {
    /** The failed phase. */
    readonly toPhase: string;
    /** The phase before it; undefined for the first phase of a task. */
    readonly fromPhase: string | undefined;
  };

/** A side effect: gated, approved and executed by the services. Times are in milliseconds. */
export type EffectRequest<Result = JsonObject> = Omit<ProgramEffect, 'uses' | 'args' | 'target'> & {
  /** For example `cap.http.request`. */
  readonly capability: string;
  readonly args: { readonly [name: string]: Json };
  /** What the effect changes; defaults to the origin of `args.url`, or else the capability. */
  readonly target?: string;
  /** Validates and types the outputs. */
  readonly result?: z.ZodType<Result>;
};

export type ArtifactOptions = {
  /**
   * Defaults to `text/plain`, `application/octet-stream` or `application/json`, by the type of the content.
   */
  readonly mediaType?: string;
};

/** The context of one item. All its records survive a restart of the phase. */
export type ItemContext<State, Input = unknown> = {
  /** The current state; immutable. */
  readonly state: Frozen<State>;
  /** The input of the task. */
  readonly input: Frozen<Input>;
  readonly goal: string;
  /** Conditions that the result has to meet, from the submission. */
  readonly acceptanceCriteria: readonly string[];
  readonly task: string;
  /** Starts at 1 and rises with every retry of the phase. */
  readonly attempt: number;
  /** The number of phases the task has entered, from 1. */
  readonly visit: number;
  /** The failed attempts of this visit, oldest first. */
  readonly hints: readonly EarlierAttempt[];
  /** Aborts after a cancellation, a lost lease, a timeout, or a worker stop; `reason` says which. */
  readonly signal: AbortSignal;
  /**
   * Executes a side effect and waits for it, however long the approval takes. The same key executes once;
   * later calls return the same result. Throws `EffectRejected` or `EffectFailed`.
   */
  readonly effect: <Result = JsonObject>(request: EffectRequest<Result>) => Promise<Result>;
  /** Runs a function once per name; later calls return the recorded value, which must be JSON. */
  readonly step: <Value>(name: string, run: () => Awaitable<Value>) => Promise<Value>;
  /**
   * Waits by the store's clock, across crashes and restarts. The name distinguishes the sleeps of a phase.
   */
  readonly sleep: (ms: number, name?: string) => Promise<void>;
  /** Writes to the worker's log. */
  readonly log: (line: string, fields?: { readonly [name: string]: Json }) => void;
  /**
   * Stores content that is too large for the state, for a month. The name distinguishes the artifacts of a
   * phase.
   */
  readonly artifact: (
    name: string,
    content: string | Uint8Array | Json,
    options?: ArtifactOptions,
  ) => Promise<ArtifactRef>;
  /**
   * Records a review of the work so far. Approvers of later effects see the latest of each kind. It decides
   * nothing.
   */
  readonly review: (review: ReviewText) => Promise<void>;
};

/** The context of a phase. */
export type PhaseContext<State, Input = unknown> = ItemContext<State, Input> & {
  /** Changes the state in an Immer draft. The changes count once the phase is completed. */
  readonly update: (recipe: Recipe<State>) => void;
};

export type Recipe<State> = (draft: Draft<State>) => void;
