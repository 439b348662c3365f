import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { TaskEvent } from '@holdpoint/contracts/task/events';

/** The history of one node. Times are epoch milliseconds. */
export type Timeline = {
  readonly created: number | undefined;
  /** Of the latest attempt. */
  readonly started: number | undefined;
  readonly finished: number | undefined;
  /** Everything that the latest attempt waited for, each kind once. */
  readonly waitedOn: readonly string[];
};

const STARTS: ReadonlySet<string> = new Set([
  'node_started',
  'step_ordered',
  'effect_ordered',
  'phase_started',
]);
const ENDS: ReadonlySet<string> = new Set([
  'node_succeeded',
  'node_ended',
  'node_skipped',
  'node_blocked',
  'node_failed',
  'phase_completed',
  'phase_skipped',
  'phase_failed',
]);

const attemptOf = (data: HistoryEntry['data']): number => {
  const attempt = data['attempt'];
  return typeof attempt === 'number' ? attempt : 0;
};

export const timelineOf = (history: readonly HistoryEntry[], node: string): Timeline => {
  const own = history.filter(({ data }) => data['node'] === node);
  const latest = own.reduce((most, { data }) => Math.max(most, attemptOf(data)), 0);
  const current = own.filter(({ data }) => attemptOf(data) === latest);
  const kinds = current.flatMap(({ data }) => {
    const event = TaskEvent.safeParse(data);
    if (!event.success) return [];
    if (event.data.type === 'approval_requested') return ['approval'];
    return event.data.type === 'node_waiting' ? [event.data.wait.kind] : [];
  });
  return {
    created: history[0]?.at,
    started: current.find(({ type }) => STARTS.has(type))?.at,
    finished: current.findLast(({ type }) => ENDS.has(type))?.at,
    waitedOn: [...new Set(kinds)],
  };
};
