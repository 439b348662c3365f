import type { streams } from '@holdpoint/contracts/bus/streams';
import { JetStreamError, jetstreamManager, type StoredMsg } from '@nats-io/jetstream';
import {
  type NatsConnection,
  NoRespondersError,
  PermissionViolationError,
  RequestError,
  TimeoutError,
} from '@nats-io/transport-node';

type StreamName = (typeof streams)[number]['name'];

const EVENTS: StreamName = 'HP_EVT';
const BATCH = 500;
/** No stream, no JetStream, or no permission. */
const UNREADABLE = [
  JetStreamError,
  NoRespondersError,
  PermissionViolationError,
  RequestError,
  TimeoutError,
] as const;

/** The messages of a subject from a position on, oldest first, while the stream keeps them. */
export async function* storedMessages(
  connection: NatsConnection,
  stream: StreamName,
  subject: string,
  from: number,
): AsyncGenerator<StoredMsg> {
  const manager = await jetstreamManager(connection, { checkAPI: false });
  // A batch fails if it is empty.
  let next = await manager.direct.getMessage(stream, { seq: from, next_by_subj: subject });
  while (next !== null) {
    const start = next.seq;
    const batch = await manager.direct.getBatch(stream, { seq: start, next_by_subj: subject, batch: BATCH });
    let last = start;
    let count = 0;
    for await (const message of batch) {
      yield message;
      last = message.seq;
      count += 1;
    }
    if (count < BATCH) return;
    next = await manager.direct.getMessage(stream, { seq: last + 1, next_by_subj: subject });
  }
}

export const readStored = async (
  connection: NatsConnection,
  subject: string,
): Promise<readonly unknown[] | undefined> => {
  try {
    const bodies: unknown[] = [];
    for await (const message of storedMessages(connection, EVENTS, subject, 1)) bodies.push(message.json());
    return bodies;
  } catch (error) {
    if (UNREADABLE.some((kind) => error instanceof kind)) return undefined;
    throw error;
  }
};
