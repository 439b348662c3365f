import type { TaskPhase } from '@holdpoint/contracts/task/status';

/** Where a task may go from each phase. Everything else is a bug; a property test walks this table. */
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

/** A person may send a task back that failed: not a step of its own life, but a new one. */
export const mayReopen = (from: TaskPhase, to: TaskPhase): boolean => from === 'failed' && !isTerminal(to);

/** Staying where it is, or a step of the table. */
export const mayGo = (from: TaskPhase, to: TaskPhase): boolean =>
  from === to || TRANSITIONS[from].includes(to);
