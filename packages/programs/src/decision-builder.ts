import {
  type Answer,
  type Decision,
  decision,
  type Outgoing,
  type TimerChange,
} from '@holdpoint/runtime/decider';
import { evolve, type ProgramChange, taskPhaseAfter } from './evolve.ts';
import type { Program, ProgramFact, ProgramState } from './state.ts';

/** A decision in the making: each step sees the state that the steps before it led to. */
export type Draft = {
  /** The store's clock. Epoch milliseconds. */
  readonly now: number;
  readonly task: () => Program;
  readonly emit: (change: ProgramChange) => void;
  readonly send: (message: Outgoing) => void;
  readonly timer: (change: TimerChange) => void;
  readonly done: (answer?: Answer) => Decision<ProgramFact>;
};

export const createDraft = (state: ProgramState, id: Program['id'], now: number): Draft => {
  let current = state;
  const events: ProgramFact[] = [];
  const send: Outgoing[] = [];
  const timers: TimerChange[] = [];

  const task = (): Program => {
    if (current.phase === 'absent') throw new Error(`task ${id} does not exist`);
    return current;
  };

  return {
    now,
    task,
    emit: (change) => {
      const event = { ...change, id, phase: taskPhaseAfter(current, change) } as ProgramFact;
      events.push(event);
      current = evolve(current, event);
    },
    send: (message) => void send.push(message),
    timer: (change) => void timers.push(change),
    done: (answer) => {
      const { phase, version } = task();
      return decision({ events, send, timers, answer: answer ?? { ok: { id, phase, version } } });
    },
  };
};
