import { jobOf } from '@holdpoint/contracts/values/ids';
import { TaskEvent } from '@holdpoint/contracts/task/events';
import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import type { NodeView, TaskView } from '@holdpoint/contracts/task/views';
import { setTimeout as pause } from 'node:timers/promises';
import { shorten } from '../output/columns.ts';
import { isEnded, statusSpan } from '../job/status.ts';
import { waitOf } from '../job/wait.ts';
import { createOnce, LAST_LINES_MS, type LogSource } from '../bus/logs.ts';
import type { Line } from '../output/painted.ts';
import type { RunObserver } from './follow.ts';

const REASON_SHOWN = 200;

/** Details of a job's status. */
const statusText = (node: NodeView): string => {
  const { job, detail, reason, error } = node;
  const wait = waitOf(node);
  if (isEnded(job)) {
    const result = error === undefined ? (detail ?? reason) : `${error.code}: ${error.message}`;
    return result === undefined ? '' : ` (${shorten(result, REASON_SHOWN)})`;
  }
  return wait === undefined ? '' : ` (${shorten(wait.detail, REASON_SHOWN)})`;
};

const jobLine = (task: TaskView['id'], node: NodeView['id'], what: Line, detail = ''): Line => [
  { text: `[run:${task}] `, paint: 'faint' },
  `${jobOf(task, node)} => `,
  ...(typeof what === 'string' ? [what] : what),
  { text: detail, paint: 'faint' },
];

export const statusLine = (node: NodeView, { id }: TaskView): Line =>
  jobLine(id, node.id, [statusSpan(node.job)], statusText(node));

const failed = (why: string): readonly [Line, string] => [
  [{ text: 'failed', paint: 'bad' }],
  ` (${shorten(why, REASON_SHOWN)})`,
];

/** Results that no status shows, because their jobs start again in the same decision. */
export const restartLines = ({ data }: HistoryEntry): readonly Line[] => {
  const event = TaskEvent.safeParse(data).data;
  switch (event?.type) {
    case 'node_failed':
      return [jobLine(event.id, event.node, ...failed(`${event.error.code}: ${event.error.message}`))];
    case 'node_retrying':
      return [jobLine(event.id, event.node, `attempt ${String(event.attempt)} follows`)];
    case 'restarted': {
      const { id, node, route, verdict, hint, by } = event;
      if (route === undefined) return [jobLine(id, node, 'starts again', by === undefined ? '' : ` (${by})`)];
      const result: readonly Line[] =
        verdict === undefined && hint !== undefined ? [jobLine(id, route, ...failed(hint))] : [];
      return [...result, jobLine(id, route, `leads back to ${jobOf(id, node)}`)];
    }
    default:
      return [];
  }
};

type ProgressSource = {
  readonly logs: LogSource;
  readonly history: (after: number) => Promise<readonly HistoryEntry[]>;
};

/** Prints every line of output, every failed attempt and every status change. */
export const createProgress = (
  { logs, history }: ProgressSource,
  lines: (lines: readonly Line[]) => void,
): Pick<RunObserver, 'onStatus'> & {
  readonly onLoad: (run: TaskView) => Promise<void>;
  /** Prints the lines that arrive after the end. */
  readonly finish: (run: TaskView) => Promise<void>;
} => {
  const isNew = createOnce();
  let position = 0;
  let version = 0;
  const showOutput = async ({ id }: TaskView): Promise<void> => {
    position = await logs.read(position, (line, node) => {
      if (isNew(line, node)) lines([[{ text: `[${id}/${node}] `, paint: 'faint' }, line.line]]);
    });
  };
  const onLoad = async (run: TaskView): Promise<void> => {
    await showOutput(run);
    if (run.version <= version) return;
    for (const entry of await history(version)) {
      version = Math.max(version, entry.version);
      lines(restartLines(entry));
    }
  };
  return {
    onLoad,
    onStatus: (node, run) => lines([statusLine(node, run)]),
    finish: async (run) => {
      await pause(LAST_LINES_MS);
      await showOutput(run);
    },
  };
};
