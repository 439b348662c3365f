import type { CircuitEvent, CircuitView } from '@holdpoint/contracts/recovery/circuit';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import { unknownEvent } from '@holdpoint/runtime/decider';

/**
 * The circuit of one target for all executors, or of one workflow for all its tasks. A circuit that never
 * opened has no state: it is closed.
 */
export type Circuit = CircuitView & {
  /** Opened by a person; only a person closes it. */
  readonly held: boolean;
  /**
   * Of a workflow: its recently stuck tasks, oldest first. `spent` ones have opened the circuit once and
   * count no more.
   */
  readonly failedTasks?: readonly { readonly task: TaskId; readonly at: number; readonly spent?: true }[];
};

const FAILURES_KEPT = 200;
/** `by` of workflow circuits. */
export const RECOVERY = 'recovery';

/** Counted failures that have opened the circuit stay, so that their tasks count only once. */
const markSpent = (state: Circuit | undefined): Pick<Circuit, 'failedTasks'> =>
  state?.failedTasks === undefined
    ? {}
    : { failedTasks: state.failedTasks.map((each) => ({ ...each, spent: true })) };

export const evolveCircuit = (state: Circuit | undefined, event: CircuitEvent): Circuit => {
  const { id, target } = event;
  switch (event.type) {
    case 'circuit_opened': {
      const { reason, by, until } = event;
      const held = until === undefined;
      return {
        id,
        target,
        state: 'open',
        reason,
        by,
        held,
        ...(until !== undefined && { until }),
        ...markSpent(state),
      };
    }
    case 'circuit_half_opened': {
      if (state === undefined) throw new Error('a circuit that was never open cannot become half open');
      const { reason, by } = state;
      const { executor } = event;
      return {
        id,
        target,
        state: 'half_open',
        ...(reason !== undefined && { reason }),
        by,
        held: false,
        ...(executor !== undefined && { executor }),
        ...markSpent(state),
      };
    }
    case 'circuit_failure_recorded': {
      const closed = { id, target, state: 'closed', by: RECOVERY, held: false } as const;
      const failedTasks = [...(state?.failedTasks ?? []), { task: event.task, at: event.at }].slice(
        -FAILURES_KEPT,
      );
      return { ...(state ?? closed), failedTasks };
    }
    case 'circuit_closed': {
      const { reason, by } = event;
      return {
        id,
        target,
        state: 'closed',
        by,
        held: false,
        ...(reason !== undefined && { reason }),
        ...markSpent(state),
      };
    }
    default:
      return unknownEvent(event);
  }
};

export const circuitView = ({ held: _held, failedTasks: _failedTasks, ...view }: Circuit): CircuitView =>
  view;
