import { LogLine } from '@holdpoint/contracts/task/log';
import type { streams } from '@holdpoint/contracts/bus/streams';
import { filters, subjects } from '@holdpoint/contracts/bus/subjects';
import { type NatsConnection, NoRespondersError, RequestError } from '@nats-io/transport-node';
import { storedMessages } from './stored.ts';

const STREAM: (typeof streams)[number]['name'] = 'HP_LOG';

/** The end of a job and its last lines arrive on different ways; the lines can lag by this much. */
export const LAST_LINES_MS = 250;

/** The log lines of a task or of one of its nodes, while the bus keeps them. */
export interface LogSource {
  /** Delivers lines after position `from` with their node, oldest first. Resolves to the position of the last line. */
  readonly read: (from: number, onLine: (line: LogLine, node: string) => void) => Promise<number>;
  /** Calls when there may be more lines. */
  readonly watch: (onMore: () => void) => { readonly stop: () => Promise<void> };
}

/** The subject is writable by others: invalid messages are dropped. */
const parseLine = (message: { readonly json: () => unknown }): LogLine | undefined => {
  try {
    return LogLine.safeParse(message.json()).data;
  } catch {
    return undefined;
  }
};

/** The server answers so for a stream that does not exist. */
const isNoStream = (error: unknown): boolean =>
  error instanceof NoRespondersError ||
  (error instanceof RequestError && error.cause instanceof NoRespondersError);

/** A restarted step and a repeated message bring lines again: only the first of each is new. */
export const createOnce = (): ((line: LogLine, node?: string) => boolean) => {
  const latest = new Map<string, { readonly seq: number; readonly at: number }>();
  return ({ attempt, step, stream, seq, at }, node = '') => {
    const key = `${node} ${String(attempt)} ${step} ${stream}`;
    const before = latest.get(key);
    if (before !== undefined && seq <= before.seq && at <= before.at) return false;
    latest.set(key, { seq, at });
    return true;
  };
};

/** Without a node, the lines of all nodes of the task. */
export const logSource = (connection: NatsConnection, task: string, node?: string): LogSource => {
  const subject = node === undefined ? filters.logsOf(task) : subjects.log(task, node);
  return {
    read: async (from, onLine) => {
      let last = from;
      try {
        for await (const message of storedMessages(connection, STREAM, subject, from + 1)) {
          last = message.seq;
          const line = parseLine(message);
          if (line !== undefined) onLine(line, message.subject.split('.').at(-1) ?? '');
        }
      } catch (error) {
        if (!isNoStream(error)) throw error;
      }
      return last;
    },
    watch: (onMore) => {
      const subscription = connection.subscribe(subject, { callback: () => onMore() });
      return { stop: () => subscription.drain() };
    },
  };
};
