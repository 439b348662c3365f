import { LogLine } from '@holdpoint/contracts/task/log';
import type { streams } from '@holdpoint/contracts/bus/streams';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection, NoRespondersError, RequestError } from '@nats-io/transport-node';
import { storedMessages } from './stored.ts';

const STREAM: (typeof streams)[number]['name'] = 'HP_LOG';

/** The log lines of a node, while the bus keeps them. */
export interface LogSource {
  /** Delivers lines after position `from`, oldest first. Resolves to the position of the last line. */
  readonly read: (from: number, onLine: (line: LogLine) => void) => Promise<number>;
  /** The latest line and its position. */
  readonly newest: () => Promise<
    { readonly position: number; readonly line: LogLine | undefined } | undefined
  >;
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

export const logSource = (connection: NatsConnection, task: string, node: string): LogSource => {
  const subject = subjects.log(task, node);
  const newest: LogSource['newest'] = async () => {
    const manager = await jetstreamManager(connection, { checkAPI: false });
    try {
      const stored = await manager.direct.getMessage(STREAM, { last_by_subj: subject });
      return stored === null ? undefined : { position: stored.seq, line: parseLine(stored) };
    } catch (error) {
      // No line, or no stream: no output in both cases.
      if (isNoStream(error)) return undefined;
      throw error;
    }
  };
  return {
    newest,
    read: async (from, onLine) => {
      let last = from;
      try {
        for await (const message of storedMessages(connection, STREAM, subject, from + 1)) {
          last = message.seq;
          const line = parseLine(message);
          if (line !== undefined) onLine(line);
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
