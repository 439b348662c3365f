import { digestOf } from '@holdpoint/contracts/values/json';
import {
  type Answer,
  buildOutgoing,
  type Decision,
  decision,
  type OutgoingBuilder,
} from '@holdpoint/runtime/decider';
import type { ProgramTiming } from './timing.ts';
import { evolve, type ProgramChange, taskPhaseAfter } from './evolve.ts';
import type { Program, ProgramTaskEvent, ProgramState } from './state.ts';

/**
 * Collects the events, messages and timers of one decision. Each step sees the state after the previous
 * steps.
 */
export type DecisionBuilder = OutgoingBuilder & {
  /** The store's clock. Epoch milliseconds. */
  readonly now: number;
  readonly task: () => Program;
  readonly emit: (change: ProgramChange) => void;
  readonly timing: ProgramTiming;
  readonly done: (answer?: Answer) => Decision<ProgramTaskEvent>;
};

export const createDecisionBuilder = (
  state: ProgramState,
  id: Program['id'],
  now: number,
  timing: ProgramTiming,
): DecisionBuilder => {
  let current = state;
  const events: ProgramTaskEvent[] = [];
  const outgoing = buildOutgoing(now, timing.resend);

  const task = (): Program => {
    if (current.phase === 'absent') throw new Error(`task ${id} does not exist`);
    return current;
  };

  return {
    now,
    task,
    emit: (change) => {
      const event = { ...change, id, phase: taskPhaseAfter(current, change) } as ProgramTaskEvent;
      events.push(event);
      current = evolve(current, event);
    },
    timing,
    ...outgoing.builder,
    done: (answer) => {
      const { phase, version } = task();
      return decision({ events, ...outgoing.made, answer: answer ?? { ok: { id, phase, version } } });
    },
  };
};

/** Records that a fork can start from this state. */
export const checkpoint = (builder: DecisionBuilder, reason: string): void => {
  const { node, visit, state } = builder.task();
  builder.emit({ type: 'state_checkpoint', node, visit, digest: digestOf(state), reason });
};
