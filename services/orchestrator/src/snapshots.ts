import { type OrchestratorEvent, type OrchestratorState } from './orchestrator.ts';

/** Snapshots only shorten loading; whatever happens, one is taken after so many events. */
const EVERY = 1_000;
/** A snapshot holds every node: in a large graph it is taken after so many nodes have ended, and costs each of them the same. */
const NODES_PER_EVENT = 16;

/** The end of a node, a question to a person, a pause: where somebody is likely to come back to. */
const MILESTONES: ReadonlySet<OrchestratorEvent['type']> = new Set([
  'node_succeeded',
  'node_ended',
  'node_skipped',
  'node_blocked',
  'node_escalated',
  'approval_requested',
  'paused',
]);

/** Whether a snapshot is due after these events of one decision. `version` is that of the state. */
export const snapshotDue = (
  state: OrchestratorState,
  version: number,
  events: readonly OrchestratorEvent[],
): boolean => {
  const before = version - events.length;
  const crosses = (every: number): boolean => Math.floor(version / every) > Math.floor(before / every);
  if (state.phase === 'absent' || state.phase === 'board' || !('definition' in state)) return crosses(EVERY);
  const every = Math.ceil(state.definition.nodes.length / NODES_PER_EVENT);
  return crosses(EVERY) || (crosses(every) && events.some(({ type }) => MILESTONES.has(type)));
};
