import type { Activation } from '@holdpoint/contracts/program/work';
import type { Draft } from './decision-builder.ts';
import { givenFor } from './work-input.ts';
import { LEASE_TIMER, ORDER_TIMER, orderWork } from './outgoing.ts';
import type { Program } from './state.ts';

/** So long a worker that says nothing keeps its lease. */
export const LEASE_MS = 30_000;
/** An order that nobody has taken is told of after this, and given again: ever more rarely, for somebody may yet come. */
const UNTAKEN_MS = 10_000;
const UNTAKEN_MAX_MS = 120_000;

const untakenTimer = (ask: number, now: number) => ({
  set: ORDER_TIMER,
  dueAt: now + Math.min(UNTAKEN_MS * 2 ** ask, UNTAKEN_MAX_MS),
  data: { ask: ask + 1 },
});

const send = (draft: Draft, ask: number): void => {
  draft.send(orderWork(draft.task(), givenFor(draft.task()), ask));
  draft.timer(untakenTimer(ask, draft.now));
};

/** Has somebody work on the phase that the task has come to, unless a person keeps it from going on. */
export const orderPhase = (draft: Draft, activation: Activation = draft.task().activation): void => {
  const { pausedByHand, node, visit, attempt, lease } = draft.task();
  if (pausedByHand) return;
  draft.emit({ type: 'phase_ordered', node, visit, attempt, lease: lease + 1, activation });
  send(draft, 0);
};

const nobody = ({ program, hash }: Program): string =>
  `no worker has taken it: is there one that has ${program.id}@${program.version} (${hash.slice(0, 12)})?`;

/** The order is old, and nobody has taken it: it may have been lost, or there is no worker. */
export const orderAgain = (draft: Draft, ask: number): void => {
  const task = draft.task();
  if (task.status !== 'ordered') return;
  const { node, visit, attempt, waits } = task;
  if (waits === undefined) draft.emit({ type: 'phase_waiting', node, visit, attempt, reason: nobody(task) });
  send(draft, ask);
};

/** The worker holds its lease for as long again. */
export const extendLease = (draft: Draft): void =>
  draft.timer({ set: LEASE_TIMER, dueAt: draft.now + LEASE_MS });

/** Nobody holds the phase any more. */
export const endLease = (draft: Draft): void => draft.timer({ clear: LEASE_TIMER });
