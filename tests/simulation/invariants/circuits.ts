import { circuitIdOf } from '@holdpoint/contracts/values/ids';
import { isWorkflowCircuit } from '@holdpoint/contracts/recovery/circuit';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { isCircuit, type RecoveryChange, type TaskChange } from '../event-states.ts';
import type { World } from '../world.ts';

/** Events of a task that has started. */
const STARTS: ReadonlySet<TaskEvent['type']> = new Set([
  'step_ordered',
  'effect_ordered',
  'approval_requested',
  'locks_requested',
  'node_started',
  'node_waiting',
]);

/**
 * While the circuit of its workflow is open a deferred task does not start. A circuit has one trial at a
 * time.
 */
export const watchCircuits = ({ checker, books }: World) => {
  /** By circuit: every task that ever had the trial, so that a late answer is recognised. */
  const tried = new Map<string, Set<string>>();
  const closed = new Set<string>();

  const checkRelease = (task: string, event: Extract<TaskEvent, { type: 'undeferred' }>): void => {
    const { circuit, trial } = event;
    const state = books.recovery.stateOf(circuitIdOf(circuit));
    const wasClosed = closed.has(circuit) || !isCircuit(state);
    checker.expect(
      'a deferred task starts only when its circuit allows it',
      trial ? tried.get(circuit)?.has(task) === true : wasClosed,
      task,
      () => `released, ${trial ? 'to try' : 'for good'}: ${JSON.stringify(state)}`,
    );
  };

  return {
    ofTask: ({ aggregate, before, event }: TaskChange): void => {
      if (before.phase === 'absent') return;
      if (event.type === 'undeferred') checkRelease(aggregate, event);
      if (!STARTS.has(event.type)) return;
      checker.expect(
        'a deferred task starts only when its circuit allows it',
        before.circuit?.state !== 'waiting',
        aggregate,
        () => `${event.type} while it waits for ${JSON.stringify(before.circuit)}`,
      );
    },
    ofRecovery: ({ aggregate, before, event }: RecoveryChange): void => {
      if (event.type === 'circuit_closed') closed.add(event.target);
      if (event.type !== 'circuit_half_opened' || event.executor === undefined) return;
      const { target, executor } = event;
      const free =
        isCircuit(before) && before.state === 'half_open' && before.executor === undefined && !before.held;
      checker.expect('a circuit has one trial at a time', free, aggregate, () =>
        JSON.stringify({ before, event }),
      );
      if (!isWorkflowCircuit(target)) return;
      const known = tried.get(target) ?? new Set();
      tried.set(target, known.add(executor.replace(/^task:/, '')));
    },
  };
};
