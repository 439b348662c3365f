import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { TaskState } from './model/state.ts';

/** Fewer events are replayed faster than a snapshot is written with the task and read again. */
const EVENTS_MIN = 64;
const EVENTS_MAX = 1_000;
/** A snapshot holds every node, so a large graph takes one per so many nodes: the cost per node stays constant. */
const NODES_PER_EVENT = 16;

/** Whether a snapshot is due after these events of one decision. `version` is that of the state. */
export const snapshotDue = (state: TaskState, version: number, events: readonly TaskEvent[]): boolean => {
  const nodes = state.phase === 'absent' ? 0 : state.definition.nodes.length;
  const every = Math.min(Math.max(Math.ceil(nodes / NODES_PER_EVENT), EVENTS_MIN), EVENTS_MAX);
  return Math.floor(version / every) > Math.floor((version - events.length) / every);
};
