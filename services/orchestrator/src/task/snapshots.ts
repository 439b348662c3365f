import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { TaskState } from './model/state.ts';

/** At least one snapshot per so many events. Snapshots only shorten loading. */
const EVERY = 1_000;
/** A snapshot holds every node, so a large graph takes one per so many ended nodes: the cost per node stays constant. */
const NODES_PER_EVENT = 16;

/** Points at which a task is likely to rest: the end of a node, a request to a person, a pause. */
const MILESTONES: ReadonlySet<TaskEvent['type']> = new Set([
  'node_succeeded',
  'node_ended',
  'node_skipped',
  'node_blocked',
  'node_escalated',
  'approval_requested',
  'paused',
]);

/** Whether a snapshot is due after these events of one decision. `version` is that of the state. */
export const snapshotDue = (state: TaskState, version: number, events: readonly TaskEvent[]): boolean => {
  const before = version - events.length;
  const crosses = (every: number): boolean => Math.floor(version / every) > Math.floor(before / every);
  if (state.phase === 'absent') return crosses(EVERY);
  const every = Math.ceil(state.definition.nodes.length / NODES_PER_EVENT);
  return crosses(EVERY) || (crosses(every) && events.some(({ type }) => MILESTONES.has(type)));
};
