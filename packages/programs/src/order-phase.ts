import type { Activation, WorkInput } from '@holdpoint/contracts/program/work';
import type { DecisionBuilder } from './decision-builder.ts';
import { LEASE_TIMER, ORDER_TIMER, orderWork } from './outgoing.ts';
import { type Program, startOfAttempt } from './state.ts';

const send = (builder: DecisionBuilder, resends: number): void => {
  builder.send(orderWork(builder.task(), workInputFor(builder.task()), resends));
  const { firstMs, lastMs } = builder.timing.unclaimed;
  builder.timer({
    set: ORDER_TIMER,
    dueAt: builder.now + Math.min(firstMs * 2 ** resends, lastMs),
    data: { attempt: resends + 1 },
  });
};

/** Orders a worker for the current phase, unless the task is paused. */
export const orderPhase = (
  builder: DecisionBuilder,
  activation: Activation = builder.task().activation,
): void => {
  const { pausedByHand, node, visit, attempt, lease } = builder.task();
  if (pausedByHand) return;
  builder.emit({ type: 'phase_ordered', node, visit, attempt, lease: lease + 1, activation });
  send(builder, 0);
};

const nobody = ({ program, hash }: Program): string =>
  `no worker has claimed the order: start one with ${program.id}@${program.version} (${hash.slice(0, 12)})`;

/** Sends an unclaimed order again: it may have been lost, or no worker is running. */
export const orderAgain = (builder: DecisionBuilder, resends: number): void => {
  const task = builder.task();
  if (task.status !== 'ordered') return;
  const { node, visit, attempt, waits } = task;
  if (waits === undefined)
    builder.emit({ type: 'phase_waiting', node, visit, attempt, reason: nobody(task) });
  send(builder, resends);
};

export const extendLease = (builder: DecisionBuilder): void =>
  builder.timer({ set: LEASE_TIMER, dueAt: builder.now + builder.timing.leaseMs });

export const endLease = (builder: DecisionBuilder): void => builder.timer({ clear: LEASE_TIMER });

/** The input of a worker for the current phase. */
export const workInputFor = (task: Program): WorkInput => {
  const { inputs, goal, requestedBy, repository, entries, failures, answer, paused } = task;
  const { from, retried, attempt, acceptanceCriteria } = task;
  const responding = task.activation === 'respond';
  return {
    state: (responding ? paused?.state : undefined) ?? startOfAttempt(task),
    inputs,
    goal,
    ...(acceptanceCriteria.length > 0 && { acceptanceCriteria: [...acceptanceCriteria] }),
    requestedBy,
    ...(repository !== undefined && { repository }),
    ...(from !== undefined && { from }),
    entries: [...entries],
    failures: [...failures],
    ...(retried?.attempt === attempt && { retried: true }),
    ...(responding && paused !== undefined && { question: paused.asks }),
    ...(responding && paused?.output !== undefined && { output: paused.output }),
    ...(responding && answer !== undefined && { answer }),
  };
};
