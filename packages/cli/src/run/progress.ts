import { jobOf } from '@holdpoint/contracts/values/ids';
import type { NodeView, TaskView } from '@holdpoint/contracts/task/views';
import type { Client } from '../bus/client.ts';
import { shorten } from '../output/columns.ts';
import { isEnded, statusSpan } from '../job/status.ts';
import { waitOf } from '../job/wait.ts';
import { logSource } from '../bus/logs.ts';
import type { Line } from '../output/painted.ts';
import type { RunObserver } from './follow.ts';

const LINE_SHOWN = 200;
/** Limit for jobs whose latest line is shown. */
const JOBS_SHOWN = 20;

/** Details of a job's status. */
const statusText = (node: NodeView): string => {
  const { job, detail, reason, error } = node;
  const wait = waitOf(node);
  if (isEnded(job)) {
    const result = error === undefined ? (detail ?? reason) : `${error.code}: ${error.message}`;
    return result === undefined ? '' : ` (${shorten(result, LINE_SHOWN)})`;
  }
  return wait === undefined ? '' : ` (${shorten(wait.detail, LINE_SHOWN)})`;
};

export const statusLine = (node: NodeView, { id }: TaskView): Line => [
  { text: `[run:${id}] `, paint: 'faint' },
  `${jobOf(id, node.id)} => `,
  statusSpan(node.job),
  { text: statusText(node), paint: 'faint' },
];

const writes = ({ uses }: NodeView): boolean =>
  !uses.startsWith('control.') || uses.startsWith('control.gate.');

/** Prints every status change, and the latest line of running jobs. */
export const createProgress = (client: Client, lines: (lines: readonly Line[]) => void): RunObserver => {
  const positions = new Map<string, number>();
  const showNewest = async (node: NodeView, { id }: TaskView): Promise<void> => {
    const newest = await logSource(client.connection, id, node.id).newest();
    if (newest?.line === undefined || newest.position <= (positions.get(node.id) ?? 0)) return;
    positions.set(node.id, newest.position);
    lines([[{ text: `[${jobOf(id, node.id)}] `, paint: 'faint' }, newest.line.line.slice(0, LINE_SHOWN)]]);
  };
  return {
    onStatus: async (node, run) => {
      // Show the last output before the outcome.
      if (isEnded(node.job) && writes(node)) await showNewest(node, run);
      lines([statusLine(node, run)]);
    },
    onRead: async (run) => {
      const running = run.nodes.filter((node) => node.job === 'running' && writes(node));
      for (const node of running.slice(0, JOBS_SHOWN)) await showNewest(node, run);
    },
  };
};
