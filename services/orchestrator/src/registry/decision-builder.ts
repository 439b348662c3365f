import type { RegistryEvent, Notification, Job } from '@holdpoint/contracts/task/registry';
import type { RepositoryId } from '@holdpoint/contracts/values/ids';
import { type Decision, decision, type Outgoing, type TimerChange } from '@holdpoint/runtime/decider';
import { evolve } from './evolve.ts';
import { notificationCommand } from './notify.ts';
import { type Registry, type RegistryState, emptyRegistry } from './state.ts';

/** An event without the id of its registry. */
export type RegistryChange = RegistryEvent extends infer E
  ? E extends RegistryEvent
    ? Omit<E, 'id'>
    : never
  : never;

/**
 * Collects the events, messages and timers of one decision. Each step sees the state after the previous
 * steps.
 */
export type DecisionBuilder = {
  readonly now: number;
  readonly registry: () => Registry;
  readonly emit: (change: RegistryChange) => void;
  readonly notify: (task: Job['task'], notification: Notification) => void;
  readonly timer: (change: TimerChange) => void;
  readonly done: () => Decision<RegistryEvent>;
};

export const createDecisionBuilder = (
  state: RegistryState,
  id: RepositoryId,
  now: number,
): DecisionBuilder => {
  let current = state;
  const events: RegistryEvent[] = [];
  const send: Outgoing[] = [];
  const timers: TimerChange[] = [];
  const registry = (): Registry => (current.phase === 'absent' ? emptyRegistry(id) : current);

  return {
    now,
    registry,
    emit: (change) => {
      const event: RegistryEvent = { ...change, id };
      events.push(event);
      current = evolve(current, event);
    },
    notify: (task, notification) => void send.push(notificationCommand(registry(), task, notification, now)),
    timer: (change) => void timers.push(change),
    // No caller waits: the reply is a notification.
    done: () => decision({ events, send, timers }),
  };
};
