import type { EffectEvent, RunEffect } from '@holdpoint/contracts/effect';
import type { ErrorBody } from '@holdpoint/contracts/errors';
import type { EffectId, NodeId, TaskId } from '@holdpoint/contracts/ids';
import type { JsonObject } from '@holdpoint/contracts/json';

/** What is known whatever became of the effect. */
type Entry = {
  readonly order: RunEffect;
  /** Rises with every start and every doubt; an outcome counts only from whoever holds the present one. */
  readonly epoch: number;
  readonly starts: number;
  /** A start ended in doubt: it may have happened, whatever later ones come to. */
  readonly unsure: boolean;
  /** It was cancelled while it ran: not to be started again. */
  readonly calledOff: boolean;
  /** Epochs that reported after they were over. */
  readonly evidence: readonly number[];
};

/** One row of truth per effect. */
export type EffectState =
  | { readonly status: 'absent' }
  | { readonly status: 'cancelled'; readonly entry?: Entry; readonly about: About; readonly reason: string }
  | { readonly status: 'refused'; readonly entry: Entry; readonly error: ErrorBody }
  | { readonly status: 'prepared'; readonly entry: Entry }
  | { readonly status: 'started'; readonly entry: Entry; readonly worker: string }
  | { readonly status: 'applied'; readonly entry: Entry; readonly outputs: JsonObject }
  | { readonly status: 'failed_clean'; readonly entry: Entry; readonly error: ErrorBody }
  | {
      readonly status: 'in_doubt';
      readonly entry: Entry;
      readonly reason: string;
      readonly next: 'repeat' | 'person';
    };

export type About = {
  readonly id: EffectId;
  readonly task: TaskId;
  readonly node: NodeId;
  readonly attempt: number;
};

export const aboutOrder = ({ id, attempt, effect: { task, node } }: RunEffect): About => ({
  id,
  task,
  node,
  attempt,
});

const fresh = (order: RunEffect): Entry => ({
  order,
  epoch: 0,
  starts: 0,
  unsure: false,
  calledOff: false,
  evidence: [],
});

const entryOf = (state: EffectState): Entry => {
  if (state.status === 'absent' || state.entry === undefined)
    throw new Error('an event of an effect that was never ordered');
  return state.entry;
};

export const evolve = (state: EffectState, event: EffectEvent): EffectState => {
  switch (event.type) {
    case 'prepared':
      return { status: 'prepared', entry: { ...(entryIn(state) ?? fresh(event.order)), order: event.order } };
    case 'refused':
      return {
        status: 'refused',
        entry: { ...(entryIn(state) ?? fresh(event.order)), order: event.order },
        error: event.error,
      };
    case 'started': {
      const entry = entryIn(state) ?? fresh(event.order);
      const started = { ...entry, order: event.order, epoch: event.epoch, starts: entry.starts + 1 };
      return { status: 'started', entry: started, worker: event.worker };
    }
    case 'applied':
      return { status: 'applied', entry: { ...entryOf(state), epoch: event.epoch }, outputs: event.outputs };
    case 'failed_clean':
      return { status: 'failed_clean', entry: { ...entryOf(state), epoch: event.epoch }, error: event.error };
    case 'in_doubt':
      return {
        status: 'in_doubt',
        entry: { ...entryOf(state), epoch: event.epoch, unsure: true },
        reason: event.reason,
        next: event.next,
      };
    case 'cancelled': {
      const { id, task, node, attempt, reason } = event;
      const entry = entryIn(state);
      return { status: 'cancelled', about: { id, task, node, attempt }, reason, ...(entry && { entry }) };
    }
    case 'cancel_requested':
      return { ...state, entry: { ...entryOf(state), calledOff: true } } as EffectState;
    case 'superseded': {
      const entry = entryOf(state);
      return { ...state, entry: { ...entry, evidence: [...entry.evidence, event.epoch] } } as EffectState;
    }
  }
};

export const entryIn = (state: EffectState): Entry | undefined =>
  state.status === 'absent' ? undefined : state.entry;
