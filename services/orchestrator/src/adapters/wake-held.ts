import type { TaskId } from '@holdpoint/contracts/values/ids';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { Pool } from 'pg';
import { CIRCUIT_TIMER } from '../task/outgoing/outgoing.ts';
import type { OrchestratorMessage } from '../aggregates.ts';
import { tasksHeldUp } from '../queries/tasks.ts';

/** The remaining tasks ask by their own timers. */
const WOKEN_MAX = 1_000;

/** A circuit closed: tasks that wait for it ask now instead of by their timers. */
export const createWakeHeld = (
  pool: Pool,
  engine: Pick<Engine<OrchestratorMessage>, 'accept'>,
  isOwner: () => boolean,
  log: Logger,
) => {
  const wake = (task: TaskId): void =>
    engine.accept(
      {
        kind: 'task',
        aggregate: task,
        message: { kind: 'timer', name: CIRCUIT_TIMER, data: { attempt: 0 } },
      },
      {
        committed: () => undefined,
        failed: (error) => log.warn({ task, code: error.code }, 'cannot wake a waiting task'),
        unavailable: () => undefined,
      },
    );
  return async (): Promise<void> => {
    // Each replica hears of the circuit.
    if (!isOwner()) return;
    try {
      for (const task of await tasksHeldUp(pool, WOKEN_MAX)) wake(task);
    } catch (error) {
      log.warn(errorFields(error), 'cannot look up waiting tasks; their timers will resend');
    }
  };
};
