import type { DoubtCause } from '@holdpoint/contracts/effect/in-doubt-cause';
import type { EffectAnswered, EffectInDoubt, EffectNotApplied } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { EffectId, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';

/** What is known whatever became of the effect. */
export type Entry = {
  readonly order: RunEffect;
  /** Rises with every start and every doubt; an outcome counts only from whoever holds the present one. */
  readonly epoch: number;
  readonly starts: number;
  /** A start ended in doubt: it may have happened, whatever later ones come to. */
  readonly mayHaveHappened: boolean;
  /** It was cancelled while it ran: not to be started again. */
  readonly cancelRequested: boolean;
  /** Epochs that reported after they were over. */
  readonly evidence: readonly number[];
  /** Where the latest start is noted. */
  readonly journal?: string | undefined;
  /** Starts that nobody has seen the end of: what is not known to have happened may still happen. */
  readonly unended?: readonly Unended[];
  /** Up to this epoch it is settled that nothing has happened. */
  readonly settled?: number;
  /** How often the target was asked since the latest start, without an answer that counts. */
  readonly probes?: number;
  /** A person lets it be started once more until then, whatever its grant says. Epoch milliseconds. */
  readonly repeatUntil?: number | undefined;
  /** What a person has said of the latest doubt that one was asked about. */
  readonly answered?: Pick<EffectAnswered, 'answer' | 'by'> | undefined;
  /** Attempts whose order came once there was an outcome. */
  readonly prevented?: readonly number[];
  /** How often the present order has lost its worker. */
  readonly lost?: number;
  /** Why the present order may not begin, as it was stated. It is over with whatever comes next of it. */
  readonly deferred?: Deferral | undefined;
};

/** What an order waits for, though it has been admitted: the circuit of its target. */
export type Deferral = { readonly target: string; readonly reason: string };

/** A start whose worker was lost. Whoever holds its journal has outlived that worker; a start that the ledger lost has none. */
export type Unended = { readonly epoch: number; readonly journal?: string | undefined };

/** One row of truth per effect. */
export type EffectState =
  | { readonly status: 'absent' }
  | { readonly status: 'cancelled'; readonly entry?: Entry; readonly about: AttemptRef; readonly reason: string }
  | { readonly status: 'refused'; readonly entry: Entry; readonly error: ErrorBody }
  | { readonly status: 'prepared'; readonly entry: Entry }
  | { readonly status: 'started'; readonly entry: Entry; readonly worker: string }
  | { readonly status: 'applied'; readonly entry: Entry; readonly outputs: JsonObject }
  | { readonly status: 'failed_clean'; readonly entry: Entry; readonly error: ErrorBody }
  /** It was in doubt, and is known not to have happened. */
  | { readonly status: 'not_applied'; readonly entry: Entry; readonly reason: string; readonly by: NotAppliedSource }
  | {
      readonly status: 'in_doubt';
      readonly entry: Entry;
      readonly reason: string;
      readonly next: Next;
      readonly cause?: DoubtCause | undefined;
    };

export type Waiting = Extract<EffectState, { status: 'prepared' | 'in_doubt' }>;

/** Whether it waits for nobody but us: for a place, or for its target. */
export const isWaiting = (state: EffectState): state is Waiting =>
  state.status === 'prepared' || (state.status === 'in_doubt' && state.next !== 'person');

/** What follows a doubt. */
export type Next = EffectInDoubt['next'];
/** Who knew that nothing had happened. */
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
