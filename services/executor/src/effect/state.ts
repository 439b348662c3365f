import type { InDoubtCause } from '@holdpoint/contracts/effect/in-doubt-cause';
import type {
  EffectAnswered,
  EffectInDoubt,
  EffectNotApplied,
  EffectProbed,
} from '@holdpoint/contracts/effect/events';
import type { RemoteHolder } from '@holdpoint/contracts/effect/remote';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { EffectId, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';

/** Facts about an effect in every state after its first order. */
export type Entry = {
  readonly order: RunEffect;
  /** Rises with every start and every doubt. Only the holder of the present epoch can report an outcome. */
  readonly epoch: number;
  readonly starts: number;
  /** A start ended in doubt. Later starts do not change that. */
  readonly mayHaveHappened: boolean;
  /** It was cancelled while it ran, and must not start again. */
  readonly cancelRequested: boolean;
  /** Epochs that reported after they were over. */
  readonly evidence: readonly number[];
  /** The journal of the latest start. */
  readonly journal?: string | undefined;
  /** Starts whose end was never seen. They may still apply the effect. */
  readonly unended?: readonly Unended[];
  /** Nothing happened up to this epoch; that is proven. */
  readonly settled?: number;
  /** The number of inconclusive probes since the latest start. */
  readonly probes?: number;
  /** An operator allows one more start until then, even without a valid grant. Epoch milliseconds. */
  readonly repeatUntil?: number | undefined;
  /** The operator's answer to the latest in-doubt question. */
  readonly answered?: Pick<EffectAnswered, 'answer' | 'by'> | undefined;
  /** Attempts that were ordered after there was an outcome. */
  readonly prevented?: readonly number[];
  /** How often the present order has lost its worker. */
  readonly lost?: number;
  /** Why the present order may not begin, as it was stated. Its next event clears it. */
  readonly deferred?: Deferral | undefined;
  /** Its latest starts by claimants. */
  readonly claims?: readonly RemoteStart[];
  /** The claimant of the latest start. */
  readonly holder?: RemoteHolder;
  /** The latest claimant that probed its target. */
  readonly prober?: Prober;
  /** The operator's signed "retry", for the claimant of the next start. */
  readonly statement?: string | undefined;
};

/** A start by a claimant. `ended`: what it reported itself. */
export type RemoteStart = {
  readonly epoch: number;
  readonly x: string;
  readonly principal: string;
  readonly seat?: string | undefined;
  readonly ended?: 'applied' | 'failed_clean' | 'unknown';
};

/** `epoch` is that of the doubt. */
export type Prober = {
  readonly epoch: number;
  readonly x: string;
  readonly principal: string;
  readonly seat?: string | undefined;
  readonly leaseMs: number;
  readonly found?: EffectProbed['found'];
};

/** An admitted order waits for the circuit of its target. */
export type Deferral = { readonly target: string; readonly reason: string };

/**
 * A start whose worker was lost. The owner of its journal, or of its seat, has outlived that worker; a start that the ledger
 * lost has neither.
 */
export type Unended = {
  readonly epoch: number;
  readonly journal?: string | undefined;
  readonly seat?: string | undefined;
  readonly principal?: string;
  readonly x?: string;
};

export type EffectState =
  | { readonly status: 'absent' }
  | {
      readonly status: 'cancelled';
      readonly entry?: Entry;
      readonly about: AttemptRef;
      readonly reason: string;
    }
  | { readonly status: 'refused'; readonly entry: Entry; readonly error: ErrorBody }
  | { readonly status: 'prepared'; readonly entry: Entry }
  | {
      readonly status: 'started';
      readonly entry: Entry;
      readonly worker: string;
      readonly remote?: RemoteHold | undefined;
    }
  | { readonly status: 'applied'; readonly entry: Entry; readonly outputs: JsonObject }
  | { readonly status: 'failed_clean'; readonly entry: Entry; readonly error: ErrorBody }
  /** It was in doubt, and certainly did not happen. */
  | {
      readonly status: 'not_applied';
      readonly entry: Entry;
      readonly reason: string;
      readonly by: NotAppliedSource;
    }
  | {
      readonly status: 'in_doubt';
      readonly entry: Entry;
      readonly reason: string;
      readonly next: Next;
      readonly cause?: InDoubtCause | undefined;
    };

/** A start that a claimant holds. */
export type RemoteHold = RemoteHolder & {
  /** How often it was given out: a claim may be repeated. */
  readonly given: number;
  /** The operator's answer that ordered it. */
  readonly statement?: string | undefined;
};

export type Waiting = Extract<EffectState, { status: 'prepared' | 'in_doubt' }>;

/** Whether it waits for an executor only: for a slot, or for its target. */
export const isWaiting = (state: EffectState): state is Waiting =>
  state.status === 'prepared' || (state.status === 'in_doubt' && state.next !== 'person');

/** How an effect in doubt proceeds. */
export type Next = EffectInDoubt['next'];
export type NotAppliedSource = EffectNotApplied['by'];

export type AttemptRef = {
  readonly id: EffectId;
  readonly task: TaskId;
  readonly node: NodeId;
  readonly attempt: number;
};

export const attemptRef = ({ id, attempt, approval, effect: { task, node } }: RunEffect): AttemptRef => ({
  id,
  task,
  node,
  attempt,
  ...(approval !== undefined && { approval }),
});

export const entryIn = (state: EffectState): Entry | undefined =>
  state.status === 'absent' ? undefined : state.entry;
