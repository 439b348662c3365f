import { LogLine } from '@holdpoint/contracts/task/log';
import type { streams } from '@holdpoint/contracts/bus/streams';
import { type Subject, subjects } from '@holdpoint/contracts/bus/subjects';
import { DeliverPolicy, jetstream, JetStreamApiError, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';

const STREAM: (typeof streams)[number]['name'] = 'HP_LOG';
const BATCH = 500;
/** Stored messages are delivered immediately: after this delay there are no more. */
const FETCH_MS = 2_000;
const NOT_FOUND = 404;

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

const readBetween = async (
  connection: NatsConnection,
  subject: Subject,
  from: number,
  last: number,
  onLine: (line: LogLine) => void,
): Promise<void> => {
  const consumer = await jetstream(connection).consumers.get(STREAM, {
    filter_subjects: subject,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: from + 1,
  });
  for (let position = from; position < last;) {
    const before = position;
    for await (const message of await consumer.fetch({ max_messages: BATCH, expires: FETCH_MS })) {
      position = message.seq;
      const line = parseLine(message);
      if (line !== undefined) onLine(line);
      if (position >= last) break;
    }
    // The stream drops its oldest messages: these never arrive.
    if (position === before) return;
  }
};

export const logSource = (connection: NatsConnection, task: string, node: string): LogSource => {
  const subject = subjects.log(task, node);
  const newest: LogSource['newest'] = async () => {
    const manager = await jetstreamManager(connection, { checkAPI: false });
    try {
      const stored = await manager.streams.getMessage(STREAM, { last_by_subj: subject });
      return stored === null ? undefined : { position: stored.seq, line: parseLine(stored) };
    } catch (error) {
      // No line, or no stream: no output in both cases.
      if (error instanceof JetStreamApiError && error.status === NOT_FOUND) return undefined;
      throw error;
    }
  };
  return {
    newest,
    read: async (from, onLine) => {
      const last = (await newest())?.position ?? 0;
      if (last <= from) return from;
      await readBetween(connection, subject, from, last, onLine);
      return last;
    },
    watch: (onMore) => {
      const subscription = connection.subscribe(subject, { callback: () => onMore() });
      return { stop: () => subscription.drain() };
    },
  };
};
