import { digestOf } from '@holdpoint/contracts/values/json';
import {
  type Answer,
  type Decision,
  decision,
  type Outgoing,
  questionTimer,
  resendTimer,
  type TimerChange,
} from '@holdpoint/runtime/decider';
import type { ProgramTiming } from './timing.ts';
import { evolve, type ProgramChange, taskPhaseAfter } from './evolve.ts';
import type { Program, ProgramTaskEvent, ProgramState } from './state.ts';

/**
 * Collects the events, messages and timers of one decision. Each step sees the state after the previous
 * steps.
 */
export type DecisionBuilder = {
  /** The store's clock. Epoch milliseconds. */
  readonly now: number;
  readonly task: () => Program;
  readonly emit: (change: ProgramChange) => void;
  readonly send: (message: Outgoing) => void;
  readonly timer: (change: TimerChange) => void;
  readonly timing: ProgramTiming;
  /** Sets the timer that sends an unanswered command again. `resends` counts how often it was sent again. */
  readonly resendTimer: (name: string, resends: number) => void;
  /** The same for a question to a person. */
  readonly questionTimer: (name: string, resends: number) => void;
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
      const event = { ...change, id, phase: taskPhaseAfter(current, change) } as ProgramTaskEvent;
      events.push(event);
      current = evolve(current, event);
    },
    send: (message) => void send.push(message),
    timer: (change) => void timers.push(change),
    timing,
    resendTimer: (name, resends) => void timers.push(resendTimer(name, resends, now, timing.resend)),
    questionTimer: (name, resends) => void timers.push(questionTimer(name, resends, now, timing.resend)),
    done: (answer) => {
      const { phase, version } = task();
      return decision({ events, send, timers, answer: answer ?? { ok: { id, phase, version } } });
    },
  };
};

/** Records that a fork can start from this state. */
export const checkpoint = (builder: DecisionBuilder, reason: string): void => {
  const { node, visit, state } = builder.task();
  builder.emit({ type: 'state_checkpoint', node, visit, digest: digestOf(state), reason });
};
