import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import {
  type Answer,
  type Decision,
  decision,
  type Outgoing,
  questionTimer,
  resendTimer,
  type TimerChange,
} from '@holdpoint/runtime/decider';
import { advanceBy } from '../evolve/evolve.ts';
import { mayGo, mayReopen } from '../evolve/phases.ts';
import { allNodes } from './nodes.ts';
import type { TaskTiming } from './timing.ts';
import { hasEnded, type Task, type TaskChange, type TaskState } from './state.ts';

/**
 * Collects the events, messages and timers of one decision. Each step sees the state after the previous
 * steps.
 */
export type DecisionBuilder = {
  /** The store's clock. Epoch milliseconds. */
  readonly now: number;
  readonly task: () => Task;
  readonly emit: (change: TaskChange) => void;
  readonly send: (message: Outgoing) => void;
  readonly timer: (change: TimerChange) => void;
  readonly timing: TaskTiming;
  /** Sets the timer that sends an unanswered command again. `resends` counts how often it was sent again. */
  readonly resendTimer: (name: string, resends: number) => void;
  /** The same for a question to a person. */
  readonly questionTimer: (name: string, resends: number) => void;
  /** Marks nodes to be looked at again, because something they may wait for has changed. */
  readonly enqueue: (nodes: Iterable<NodeId>) => void;
  /** Removes the next node from the queue. Undefined when it is empty. */
  readonly nextNode: () => NodeId | undefined;
  readonly done: (answer?: Answer) => Decision<TaskEvent>;
};

export const createDecisionBuilder = (
  state: TaskState,
  id: Task['id'],
  now: number,
  timing: TaskTiming,
): DecisionBuilder => {
  let current = state;
  const events: TaskEvent[] = [];
  const send: Outgoing[] = [];
  const timers: TimerChange[] = [];
  const queue = new Set<NodeId>();

  const task = (): Task => {
    if (current.phase === 'absent') throw new Error(`task ${id} does not exist`);
    return current;
  };

  return {
    now,
    task,
    emit: (change) => {
      const { event, after } = advanceBy(current, id, change);
      const { phase } = event;
      const { phase: from } = current;
      const legal =
        from === 'absent' || mayGo(from, phase) || (change.type === 'restarted' && mayReopen(from, phase));
      if (!legal) throw new Error(`task ${id} may not go from ${from} to ${phase}`);
      events.push(event);
      current = after;
    },
    send: (message) => void send.push(message),
    timer: (change) => void timers.push(change),
    timing,
    resendTimer: (name, resends) => void timers.push(resendTimer(name, resends, now, timing.resend)),
    questionTimer: (name, resends) => void timers.push(questionTimer(name, resends, now, timing.resend)),
    enqueue: (nodes) => {
      for (const node of nodes) queue.add(node);
    },
    nextNode: () => {
      const [next] = queue;
      if (next !== undefined) queue.delete(next);
      return next;
    },
    done: (answer) => {
      const { phase, version } = task();
      return decision({
        events,
        send,
        timers,
        after: current,
        answer: answer ?? { ok: { id, phase, version } },
      });
    },
  };
};

/** Enqueues every open node, after a time in which the task could not advance. */
export const enqueueOpenNodes = (builder: DecisionBuilder): void => {
  const { definition, nodes } = builder.task();
  const states = allNodes(nodes);
  builder.enqueue(
    definition.nodes.flatMap(({ id }, place) => {
      const state = states[place];
      return state !== undefined && !hasEnded(state) ? [id] : [];
    }),
  );
};
