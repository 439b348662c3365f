import type { TaskEvent } from '@holdpoint/contracts/task';
import {
  type Decision,
  decision,
  type Outgoing,
  type TimerChange,
  type Answer,
} from '@holdpoint/runtime/decider';
import { evolve, phaseAfter, type TaskChange } from './evolve.ts';
import { mayGo } from './phases.ts';
import type { Task, TaskState } from './state.ts';

/** A decision in the making: each step sees the state that the steps before it led to. */
export type Draft = {
  readonly task: () => Task;
  readonly emit: (change: TaskChange) => void;
  readonly send: (message: Outgoing) => void;
  readonly timer: (change: TimerChange) => void;
  readonly done: (answer?: Answer) => Decision<TaskEvent>;
};

export const createDraft = (state: TaskState, id: Task['id']): Draft => {
  let current = state;
  const events: TaskEvent[] = [];
  const send: Outgoing[] = [];
  const timers: TimerChange[] = [];

  const task = (): Task => {
    if (current.phase === 'absent') throw new Error(`task ${id} does not exist`);
    return current;
  };

  return {
    task,
    emit: (change) => {
      const phase = phaseAfter(current, change);
      if (current.phase !== 'absent' && !mayGo(current.phase, phase)) {
        throw new Error(`task ${id} may not go from ${current.phase} to ${phase}`);
      }
      const event: TaskEvent = { ...change, id, phase };
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
