import { isEndPhase, type TaskPhase } from '@holdpoint/contracts/task/status';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { type Task, countOf } from '../model/state.ts';

/** The legal transitions. Every other one is a bug; a property test walks this table. */
export const TRANSITIONS: Readonly<Record<TaskPhase, readonly TaskPhase[]>> = {
  queued: ['execution_ready', 'paused', 'cancelled', 'failed'],
  execution_ready: [
    'executing',
    'awaiting_approval',
    'recovering',
    'paused',
    'circuit_open',
    'completed',
    'failed',
    'cancelled',
  ],
  executing: [
    'awaiting_approval',
    'recovering',
    'paused',
    'circuit_open',
    'completed',
    'failed',
    'cancelled',
  ],
  awaiting_approval: [
    'executing',
    'recovering',
    'paused',
    'circuit_open',
    'completed',
    'failed',
    'cancelled',
  ],
  recovering: [
    'executing',
    'awaiting_approval',
    'paused',
    'circuit_open',
    'completed',
    'failed',
    'cancelled',
  ],
  paused: [
    'queued',
    'execution_ready',
    'executing',
    'awaiting_approval',
    'recovering',
    'circuit_open',
    'completed',
    'failed',
    'cancelled',
  ],
  circuit_open: [
    'execution_ready',
    'executing',
    'awaiting_approval',
    'recovering',
    'paused',
    'completed',
    'failed',
    'cancelled',
  ],
  completed: [],
  failed: [],
  cancelled: [],
};

/** A person may reopen a failed task. That is not a step of the table. */
export const mayReopen = (from: TaskPhase, to: TaskPhase): boolean => from === 'failed' && !isEndPhase(to);

/** The same phase, or a step of the table. */
export const mayGo = (from: TaskPhase, to: TaskPhase): boolean =>
  from === to || TRANSITIONS[from].includes(to);

const HAS_BEGUN: ReadonlySet<TaskPhase> = new Set(['executing', 'awaiting_approval', 'recovering']);

/** Every running node is deferred. */
const isDeferred = (task: Task): boolean =>
  (task.deferredNodes ?? 0) > 0 && task.deferredNodes === countOf(task, 'running');

export const phaseOf = (task: Task): TaskPhase => {
  if (task.pausedByHand || countOf(task, 'escalated') > 0) return 'paused';
  if (task.circuit?.state === 'waiting') return 'circuit_open';
  if (countOf(task, 'awaiting_approval') > 0) return 'awaiting_approval';
  if (countOf(task, 'recovering', 'retrying') > 0) return 'recovering';
  if (isDeferred(task)) return 'circuit_open';
  // A restarted task counts as executing, even when every node is idle again.
  if (HAS_BEGUN.has(task.phase)) return 'executing';
  const untouched = countOf(task, 'idle', 'waiting');
  return untouched === task.definition.nodes.length ? 'execution_ready' : 'executing';
};

/** The phase that a change sets in every state of the task, if there is one. */
export const fixedPhase = (task: Task, type: TaskEvent['type']): TaskPhase | undefined => {
  if (isEndPhase(type)) return type;
  if (type === 'ready') return 'execution_ready';
  // Watches and ended peers do not change the phase: the task may have ended.
  return type === 'watcher_added' || type === 'peer_ended' || type === 'review_recorded'
    ? task.phase
    : undefined;
};
