import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { jobOf } from '@holdpoint/contracts/values/ids';
import { TaskEvent } from '@holdpoint/contracts/task/events';
import type { TaskView } from '@holdpoint/contracts/task/views';
import { isEnded } from './status.ts';

/** Nodes that restarted since a version of the task. */
export const restartedSince = (history: readonly HistoryEntry[], version: number): readonly string[] => {
  const nodes = history
    .filter((entry) => entry.version > version)
    .flatMap(({ data }) => {
      const event = TaskEvent.safeParse(data);
      if (!event.success) return [];
      if (event.data.type === 'restarted') return event.data.nodes;
      return event.data.type === 'node_retrying' ? [event.data.node] : [];
    });
  return [...new Set(nodes)];
};

/** The effect of a retry, computed from the task before and after it. */
export const retryJson = (
  before: TaskView,
  now: TaskView,
  requested: string,
  nodes: readonly string[],
): unknown => {
  const jobs = (ids: readonly string[]): readonly string[] => ids.map((id) => jobOf(now.id, id));
  const set = new Set(nodes);
  const was = new Map(before.nodes.map((node) => [node.id as string, node]));
  const outside = new Set(
    now.nodes.filter(({ id }) => set.has(id)).flatMap(({ after }) => after.filter((id) => !set.has(id))),
  );
  const inSet = now.nodes.filter(({ id }) => set.has(id));
  const reset = inSet.filter(({ id }) => isEnded(was.get(id)?.job ?? 'queued'));
  return {
    outcome: 'job_retried',
    requested_job: requested,
    retry_root: requested,
    last_successful_point: jobs(
      [...outside].filter((id) => now.nodes.find((node) => node.id === id)?.job === 'succeeded'),
    ),
    retry_set: jobs(inSet.map(({ id }) => id)),
    reset: jobs(reset.map(({ id }) => id)),
    restarted: jobs(inSet.filter(({ job }) => job === 'running').map(({ id }) => id)),
    updated: jobs(inSet.map(({ id }) => id)),
  };
};
