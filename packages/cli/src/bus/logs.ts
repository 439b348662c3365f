import { LogLine } from '@holdpoint/contracts/task/log';
import type { streams } from '@holdpoint/contracts/bus/streams';
import { type Subject, subjects } from '@holdpoint/contracts/bus/subjects';
import { DeliverPolicy, jetstream, JetStreamApiError, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';

const STREAM: (typeof streams)[number]['name'] = 'HP_LOG';
const BATCH = 500;
/** What is stored is delivered at once: after this there is nothing. */
const FETCH_MS = 2_000;
const NOT_FOUND = 404;

/** The lines that a node of a task wrote, as long as the bus keeps them. */
export interface LogSource {
  /** Hands on what was stored after `from`, oldest first; resolves to the place of the last line there is. */
  readonly read: (from: number, onLine: (line: LogLine) => void) => Promise<number>;
  /** The latest line, and its place. */
  readonly newest: () => Promise<{ readonly place: number; readonly line: LogLine | undefined } | undefined>;
  /** Calls whenever there may be more to read. */
  readonly watch: (onMore: () => void) => { readonly stop: () => Promise<void> };
}

/** What anybody may write there need not be a line: it is left out. */
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
  for (let place = from; place < last;) {
    const before = place;
    for await (const message of await consumer.fetch({ max_messages: BATCH, expires: FETCH_MS })) {
      place = message.seq;
      const line = parseLine(message);
      if (line !== undefined) onLine(line);
      if (place >= last) break;
    }
    // The stream drops its oldest messages: what is gone does not come.
    if (place === before) return;
  }
};

export const logSource = (connection: NatsConnection, task: string, node: string): LogSource => {
  const subject = subjects.log(task, node);
  const newest: LogSource['newest'] = async () => {
    const manager = await jetstreamManager(connection, { checkAPI: false });
    try {
      const stored = await manager.streams.getMessage(STREAM, { last_by_subj: subject });
      return stored === null ? undefined : { place: stored.seq, line: parseLine(stored) };
    } catch (error) {
      // No line yet, or no stream: there is no output either way.
      if (error instanceof JetStreamApiError && error.status === NOT_FOUND) return undefined;
      throw error;
    }
  };
  return {
    newest,
    read: async (from, onLine) => {
      const last = (await newest())?.place ?? 0;
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
