import {
  type CircuitEvent,
  type CircuitView,
  isWorkflowCircuit,
} from '@holdpoint/contracts/recovery/circuit';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import { followCircuits } from '@holdpoint/runtime/bus/circuits';
import type { Listener } from '@holdpoint/runtime/bus/listener';

/** Limit for circuits. More workflows never fail at the same time. */
const PAGES_MAX = 4;

export type WorkflowCircuits = {
  /** The known circuits that are not closed. */
  readonly open: () => readonly string[];
  readonly follow: (listener: Listener, clock: Clock) => { readonly stop: () => void };
};

/**
 * Tracks the open circuits of workflows. Recovery decides whether a task starts; this only tells which tasks
 * must ask.
 */
export const createWorkflowCircuits = (closed: (circuit: string) => void): WorkflowCircuits => {
  let open: ReadonlySet<string> = new Set();

  const hear = ({ type, target }: CircuitEvent): void => {
    if (!isWorkflowCircuit(target) || type === 'circuit_failure_recorded') return;
    const next = new Set(open);
    if (type === 'circuit_closed') next.delete(target);
    else next.add(target);
    open = next;
    if (type === 'circuit_closed') closed(target);
  };

  const hearAll = (all: readonly CircuitView[]): void => {
    const found = new Set(
      all.flatMap(({ target, state }) => (isWorkflowCircuit(target) && state !== 'closed' ? [target] : [])),
    );
    const gone = [...open].filter((target) => !found.has(target));
    open = found;
    for (const target of gone) closed(target);
  };

  return {
    open: () => [...open],
    follow: (listener, clock) => followCircuits(listener, clock, PAGES_MAX, { hear, hearAll }),
  };
};
