import type { CancelEffect, ResolveEffect, RunEffect } from '@holdpoint/contracts/effect/commands';
import type { EffectEvent, EffectProbed } from '@holdpoint/contracts/effect/events';
import type { RemoteFinding, RemoteHolder, RemoteOutcome } from '@holdpoint/contracts/effect/remote';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { EffectId } from '@holdpoint/contracts/values/ids';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { Decision } from '@holdpoint/runtime/decider';
import type { Deferral, EffectState, RemoteHold, Unended } from './state.ts';

/** The result of one start. `unknown` covers every result that proves neither of the others. */
export type Outcome =
  | { readonly kind: 'applied'; readonly outputs: JsonObject }
  | { readonly kind: 'failed_clean'; readonly error: ErrorBody }
  | { readonly kind: 'unknown'; readonly reason: string };

/** The result of a probe. `unproven`: the effect has not happened yet, but a lost start may still be under way. */
export type Finding = {
  readonly found: EffectProbed['found'];
  readonly reason: string;
  /** With `applied`: the outputs of the effect. */
  readonly outputs?: JsonObject;
};

/** A free slot of the executor that took the message, with that executor's name and the id of its journal. */
export type Slot = {
  readonly worker: string;
  readonly slot: number;
  readonly journal?: string;
  /** When the slot was taken, by the executor's monotonic clock: the lease of the start counts from then. */
  readonly since?: number;
  /** A claimant takes the place of the slot. */
  readonly remote?: RemoteSlot;
};

/** A claim that waits for an order. */
export type RemoteSlot = {
  /** It takes the order of a run, or of a probe. */
  readonly to: 'run' | 'probe';
  readonly holder: Omit<RemoteHolder, 'since'>;
};

export type EffectMessage =
  /** Without a slot the order waits. */
  | { readonly kind: 'run'; readonly payload: RunEffect; readonly slot: Slot | undefined }
  | { readonly kind: 'cancel'; readonly payload: CancelEffect }
  | { readonly kind: 'resolve'; readonly payload: ResolveEffect }
  | { readonly kind: 'probed'; readonly epoch: number; readonly finding: Finding }
  | {
      readonly kind: 'claim';
      readonly id: EffectId;
      readonly slot: Slot;
      /** The executor does not know the key of the grant yet, but may learn it. */
      readonly keyPending?: true;
    }
  /** It waits because the circuit of its target is not closed. */
  | ({ readonly kind: 'deferred'; readonly attempt: number } & Deferral)
  | { readonly kind: 'heartbeat'; readonly epoch: number }
  | { readonly kind: 'outcome'; readonly epoch: number; readonly outcome: Outcome }
  /** A claimant extends its lease. */
  | { readonly kind: 'beat'; readonly epoch: number; readonly x: string }
  /** A claimant reports the result of its run or probe. */
  | {
      readonly kind: 'end';
      readonly epoch: number;
      readonly x: string;
      readonly result: RemoteOutcome | RemoteFinding;
    }
  /** An executor could not deliver a start to its claimant. `given`: the number of earlier deliveries. */
  | { readonly kind: 'not_given'; readonly epoch: number; readonly given: number; readonly error: ErrorBody }
  /** A journal has a start that the ledger may have lost when the database was restored. */
  | { readonly kind: 'journalled'; readonly order: RunEffect; readonly epoch: number }
  /** The journal of this start has a new owner: the executor that began it has ended. */
  | { readonly kind: 'abandoned'; readonly epoch: number; readonly journal: string }
  | { readonly kind: 'timer'; readonly name: string; readonly data: Json };

/** Work of the executor after the commit of a decision. */
export type EffectWork =
  | {
      readonly kind: 'start';
      readonly order: RunEffect;
      readonly epoch: number;
      readonly slot: number;
      readonly since?: number;
      readonly remote?: RemoteHold;
    }
  /** Probes the target. "Not applied" counts only when all starts in `unended` are known to be over. */
  | {
      readonly kind: 'probe';
      readonly order: RunEffect;
      readonly epoch: number;
      readonly slot: number;
      readonly unended: readonly Unended[];
      readonly remote?: true;
    }
  /** `deferred`: the ledger has already stated that the order waits for its target. `probe`: it waits for a probe. */
  | {
      readonly kind: 'await_slot';
      readonly order: RunEffect;
      readonly deferred?: true;
      readonly probe?: true;
    }
  /** Ends one start; another may be under way. */
  | { readonly kind: 'abort'; readonly id: EffectId; readonly epoch: number };

export type EffectDecision = Decision<EffectEvent, EffectWork>;
/** Why an order may not run at a moment, if so. */
export type Admission = (order: RunEffect, now: number) => ErrorBody | undefined;
export type Started = Extract<EffectState, { status: 'started' }>;
export type InDoubt = Extract<EffectState, { status: 'in_doubt' }>;
