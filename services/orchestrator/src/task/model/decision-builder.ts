import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import {
  type Answer,
  type Decision,
  decision,
  type Outgoing,
  type TimerChange,
} from '@holdpoint/runtime/decider';
import { evolve, phaseAfter, type TaskChange } from './evolve.ts';
import { mayGo, mayReopen } from './phases.ts';
import type { Task, TaskState } from './state.ts';

/** A decision in the making: each step sees the state that the steps before it led to. */
export type Draft = {
  /** The store's clock. Epoch milliseconds. */
  readonly now: number;
  readonly task: () => Task;
  readonly emit: (change: TaskChange) => void;
  readonly send: (message: Outgoing) => void;
  readonly timer: (change: TimerChange) => void;
  /** Something has changed that these nodes may have waited for. */
  readonly touch: (nodes: Iterable<NodeId>) => void;
  /** The next node that was touched, until there is none left. */
  readonly nextTouched: () => NodeId | undefined;
  readonly done: (answer?: Answer) => Decision<TaskEvent>;
};

export const createDraft = (state: TaskState, id: Task['id'], now: number): Draft => {
  let current = state;
  const events: TaskEvent[] = [];
  const send: Outgoing[] = [];
  const timers: TimerChange[] = [];
  const touched = new Set<NodeId>();

  const task = (): Task => {
    if (current.phase === 'absent') throw new Error(`task ${id} does not exist`);
    return current;
  };

  return {
    now,
    task,
    emit: (change) => {
      const phase = phaseAfter(current, change);
      const { phase: from } = current;
      const legal =
        from === 'absent' || mayGo(from, phase) || (change.type === 'restarted' && mayReopen(from, phase));
      if (!legal) throw new Error(`task ${id} may not go from ${from} to ${phase}`);
      const event: TaskEvent = { ...change, id, phase };
      events.push(event);
      current = evolve(current, event);
    },
    send: (message) => void send.push(message),
    timer: (change) => void timers.push(change),
    touch: (nodes) => {
      for (const node of nodes) touched.add(node);
    },
    nextTouched: () => {
      const [next] = touched;
      if (next !== undefined) touched.delete(next);
      return next;
    },
    done: (answer) => {
      const { phase, version } = task();
      return decision({ events, send, timers, answer: answer ?? { ok: { id, phase, version } } });
    },
  };
};
