import type { TaskPhase } from '@holdpoint/contracts/task/status';

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

export const isTerminal = (phase: TaskPhase): boolean => TRANSITIONS[phase].length === 0;

/** A person may reopen a failed task. That is not a step of the table. */
export const mayReopen = (from: TaskPhase, to: TaskPhase): boolean => from === 'failed' && !isTerminal(to);

/** The same phase, or a step of the table. */
export const mayGo = (from: TaskPhase, to: TaskPhase): boolean =>
  from === to || TRANSITIONS[from].includes(to);
