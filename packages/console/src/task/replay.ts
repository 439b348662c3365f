import { isNotApproved } from '@holdpoint/contracts/values/errors';
import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import type { JobStatus, TaskPhase } from '@holdpoint/contracts/task/status';

/** A node at one version. */
export type NodeSnapshot = { readonly job: JobStatus; readonly attempt: number };
export type TaskSnapshot = {
  readonly phase: TaskPhase;
  readonly version: number;
  readonly at: number;
  readonly nodes: ReadonlyMap<string, NodeSnapshot>;
};

const WAITS: Readonly<Record<string, JobStatus>> = {
  dependencies: 'waiting_on_deps',
  artifacts: 'waiting_on_deps',
  preconditions: 'waiting_on_deps',
  approval: 'waiting_on_approval',
  locks: 'waiting_on_locks',
  paused: 'paused',
};
const ENDED: Readonly<Record<string, JobStatus>> = {
  failed: 'failed',
  blocked: 'blocked_by_dependency',
  cancelled: 'cancelled',
  unreached: 'unreached',
};

/** Node states that follow from the event type alone. */
const BECOMES: Readonly<Record<string, JobStatus>> = {
  approval_requested: 'waiting_on_approval',
  effect_ordered: 'running',
  node_started: 'running',
  locks_requested: 'waiting_on_locks',
  step_ordered: 'running',
  node_succeeded: 'succeeded',
  node_paused: 'paused',
  node_failed: 'recovering',
  rollback_ordered: 'recovering',
  handoff_ordered: 'recovering',
  node_retrying: 'recovering',
  node_skipped: 'skipped',
  node_blocked: 'blocked_by_dependency',
  node_escalated: 'escalated',
  node_deferred: 'recovering',
  node_undeferred: 'running',
  in_doubt_asked: 'waiting_on_approval',
};

type Data = Readonly<Record<string, unknown>>;
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const dataOf = (value: unknown): Data => (typeof value === 'object' && value !== null ? (value as Data) : {});

const jobAfter = (type: string, data: Data, before: JobStatus): JobStatus => {
  if (type === 'node_waiting') return WAITS[textOf(dataOf(data['wait'])['kind'])] ?? before;
  if (type === 'node_ended') {
    const code = textOf(dataOf(data['error'])['code']);
    return isNotApproved(code) ? 'blocked_by_approval' : (ENDED[textOf(data['outcome'])] ?? before);
  }
  if (type === 'node_resumed') return before === 'paused' ? 'queued' : before;
  return BECOMES[type] ?? before;
};

/** The nodes of the submitted workflow, from the history. */
export const definitionIn = (events: readonly HistoryEntry[]): readonly Data[] => {
  const submitted = events.find(({ type }) => type === 'submitted');
  return listOf(dataOf(submitted?.data['definition'])['nodes']).map(dataOf);
};

/** The task at one version, computed from its events, for the replay. */
export const taskAt = (events: readonly HistoryEntry[], version: number): TaskSnapshot => {
  const nodes = new Map<string, NodeSnapshot>(
    definitionIn(events).map(({ id }) => [textOf(id), { job: 'queued', attempt: 1 }]),
  );
  let then: Omit<TaskSnapshot, 'nodes'> = { phase: 'queued', version: 0, at: 0 };
  for (const { version: at, type, data, at: when } of events) {
    if (at > version) break;
    then = { phase: (textOf(data['phase']) || then.phase) as TaskPhase, version: at, at: when };
    const carried = dataOf(dataOf(data['forkedFrom'])['nodes']);
    for (const [id, node] of Object.entries(carried))
      nodes.set(id, { job: textOf(dataOf(node)['status']) as JobStatus, attempt: 1 });
    for (const id of type === 'restarted' ? listOf(data['nodes']).map(textOf) : [])
      nodes.set(id, { job: 'queued', attempt: (nodes.get(id)?.attempt ?? 0) + 1 });
    const id = textOf(data['node']);
    const before = nodes.get(id);
    if (before === undefined || type === 'restarted') continue;
    const attempt = typeof data['attempt'] === 'number' ? data['attempt'] : before.attempt;
    nodes.set(id, { job: jobAfter(type, data, before.job), attempt });
  }
  if (then.phase === 'cancelled')
    for (const [id, node] of nodes)
      if (!['succeeded', 'skipped', 'failed', 'unreached'].includes(node.job))
        nodes.set(id, { ...node, job: 'cancelled' });
  return { ...then, nodes };
};

/** Appends an event to a history; undefined if events are missing and it must be reloaded. */
export const withEvent = (
  events: readonly HistoryEntry[],
  event: HistoryEntry,
): readonly HistoryEntry[] | undefined => {
  const last = events.at(-1)?.version ?? 0;
  if (event.version <= last) return events;
  return event.version === last + 1 ? [...events, event] : undefined;
};
