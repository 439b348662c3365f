import type { CancelEffect, ResolveEffect, RunEffect } from '@holdpoint/contracts/effect/commands';
import type { EffectEvent, EffectProbed } from '@holdpoint/contracts/effect/events';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { EffectId } from '@holdpoint/contracts/values/ids';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { Decision } from '@holdpoint/runtime/decider';
import type { EffectState, Deferral, Unended } from './state.ts';

/** What carrying out an effect came to. `unknown` covers everything that does not prove the one or the other. */
export type Outcome =
  | { readonly kind: 'applied'; readonly outputs: JsonObject }
  | { readonly kind: 'failed_clean'; readonly error: ErrorBody }
  | { readonly kind: 'unknown'; readonly reason: string };

/** What asking the target came to. `unproven`: it has not happened, but the start that was lost may still be under way. */
export type Finding = {
  readonly found: EffectProbed['found'];
  readonly reason: string;
  /** With `applied`: what the effect gives. */
  readonly outputs?: JsonObject;
};

/** A free place in the executor that took the message, who it is, and where it notes its starts. Without a place the order waits. */
export type Slot = {
  readonly worker: string;
  readonly id: number;
  readonly journal?: string;
  /** When it was taken, by that executor's own clock: a lease that is given with it begins no earlier. */
  readonly since?: number;
};

export type EffectMessage =
  | { readonly kind: 'run'; readonly payload: RunEffect; readonly place: Slot | undefined }
  | { readonly kind: 'cancel'; readonly payload: CancelEffect }
  | { readonly kind: 'resolve'; readonly payload: ResolveEffect }
  | { readonly kind: 'probed'; readonly epoch: number; readonly finding: Finding }
  | { readonly kind: 'claim'; readonly id: EffectId; readonly place: Slot }
  /** It waits, and the circuit of its target is why. */
  | ({ readonly kind: 'held'; readonly attempt: number } & Deferral)
  | { readonly kind: 'heartbeat'; readonly epoch: number }
  | { readonly kind: 'outcome'; readonly epoch: number; readonly outcome: Outcome }
  /** The ledger was set back; somebody's journal says that this was started, under this epoch. */
  | { readonly kind: 'journalled'; readonly order: RunEffect; readonly epoch: number }
  | { readonly kind: 'timer'; readonly name: string; readonly data: Json };

/** What the executor does once the decision is committed. */
export type EffectWork =
  | {
      readonly kind: 'start';
      readonly order: RunEffect;
      readonly epoch: number;
      readonly slot: number;
      readonly since?: number;
    }
  /** Asks the target whether it happened. That it did not counts once all that is `unended` is known to be over. */
  | {
      readonly kind: 'probe';
      readonly order: RunEffect;
      readonly epoch: number;
      readonly slot: number;
      readonly unended: readonly Unended[];
    }
  /** `held`: that it waits for its target has been stated. */
  | { readonly kind: 'await_place'; readonly order: RunEffect; readonly held?: true }
  /** Ends one start of it; another may be under way. */
  | { readonly kind: 'abort'; readonly id: EffectId; readonly epoch: number };

export type EffectDecision = Decision<EffectEvent, EffectWork>;
/** Why an order may not run at a moment, if so. */
export type Admission = (order: RunEffect, now: number) => ErrorBody | undefined;
export type Started = Extract<EffectState, { status: 'started' }>;
export type InDoubt = Extract<EffectState, { status: 'in_doubt' }>;
