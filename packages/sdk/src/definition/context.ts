import type { Draft, Frozen } from './frozen.ts';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { PhaseFailure } from '@holdpoint/contracts/program/work';
import type { ProgramEffect } from '@holdpoint/contracts/program/recording';
import type { StoredArtifact } from '@holdpoint/contracts/effect/stored-artifact';
import type { z } from 'zod';

/** A value, or a promise of it. */
export type Awaitable<Value> = Value | Promise<Value>;

/** Names something that is kept beside the facts: its digest, its size, its media type and its name. */
export type ArtifactRef = StoredArtifact;

/** An attempt that failed before this one: which, in which part of the phase, and why. */
export type EarlierAttempt = PhaseFailure;

/** Why a phase failed, with the number of the attempt and the part of the phase. `code` is a promise, `message` is not. */
export type PhaseError = ErrorBody & Pick<PhaseFailure, 'attempt' | 'stage'>;

/** A side effect as a phase asks for it: gated, approved and carried out by the services. Times are milliseconds. */
export type EffectRequest<Result = JsonObject> = Omit<ProgramEffect, 'uses' | 'args' | 'target'> & {
  /** What carries it out, such as `cap.http.request`. */
  readonly capability: string;
  readonly args: { readonly [name: string]: Json };
  /** What it acts on; when left out, the origin of `args.url`, or else the capability. */
  readonly target?: string;
  /** What its outputs have to fit; they are typed by it. */
  readonly result?: z.ZodType<Result>;
};

export type ArtifactOptions = {
  /** `text/plain`, `application/octet-stream` or `application/json`, by what it is, when left out. */
  readonly mediaType?: string;
};

/** What one item of a phase is given. Everything that it records stands when the phase is run again. */
export type ItemContext<State, Input = unknown> = {
  /** As it is at this moment. It is never changed in place. */
  readonly state: Frozen<State>;
  /** What the task was started with. */
  readonly input: Frozen<Input>;
  readonly goal: string;
  readonly task: string;
  /** From 1; rises with every retry of the phase. */
  readonly attempt: number;
  /** Counts the phases that the task has come to, from 1. */
  readonly visit: number;
  /** The attempts of this visit that failed, oldest first. */
  readonly hints: readonly EarlierAttempt[];
  /** Aborts when the task is cancelled, the lease is lost, the phase takes too long, or the worker stops; `reason` tells. */
  readonly signal: AbortSignal;
  /**
   * Has a side effect carried out, and waits for it, however long people take to approve it. The same key is carried out
   * once: whoever asks again is given what it came to. Throws `EffectRejected` or `EffectFailed`.
   */
  readonly effect: <Result = JsonObject>(request: EffectRequest<Result>) => Promise<Result>;
  /** Runs a function once: under the same name, the recorded value is given from then on. The value has to be JSON. */
  readonly step: <Value>(name: string, run: () => Awaitable<Value>) => Promise<Value>;
  /** Waits by the clock of the store, across crashes and restarts. The name tells one sleep of a phase from another. */
  readonly sleep: (ms: number, name?: string) => Promise<void>;
  /** Hands a line to the log of the worker. */
  readonly log: (line: string, fields?: { readonly [name: string]: Json }) => void;
  /** Keeps what is too large for the state, for a month. The name tells one artifact of a phase from another. */
  readonly artifact: (
    name: string,
    content: string | Uint8Array | Json,
    options?: ArtifactOptions,
  ) => Promise<ArtifactRef>;
};

/** What a phase is given. */
export type PhaseContext<State, Input = unknown> = ItemContext<State, Input> & {
  /** Changes the state, by an Immer draft. What is changed counts once the phase is completed. */
  readonly update: (recipe: Recipe<State>) => void;
};

/** Changes a draft. */
export type Recipe<State> = (draft: Draft<State>) => void;
