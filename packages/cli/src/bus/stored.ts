import type { streams } from '@holdpoint/contracts/bus/streams';
import { DeliverPolicy, jetstream, JetStreamError } from '@nats-io/jetstream';
import {
  type NatsConnection,
  NoRespondersError,
  PermissionViolationError,
  RequestError,
  TimeoutError,
} from '@nats-io/transport-node';

const EVENTS: (typeof streams)[number]['name'] = 'HP_EVT';
const BATCH = 500;
/** No stream, no JetStream, or no permission. */
const UNREADABLE = [
  JetStreamError,
  NoRespondersError,
  PermissionViolationError,
  RequestError,
  TimeoutError,
] as const;
const ANSWER_WITHIN_MS = 5_000;

export const readStored = async (
  connection: NatsConnection,
  subject: string,
): Promise<readonly unknown[] | undefined> => {
  try {
    const consumer = await jetstream(connection).consumers.get(EVENTS, {
      filter_subjects: subject,
      deliver_policy: DeliverPolicy.All,
    });
    const bodies: unknown[] = [];
    for (let left = (await consumer.info()).num_pending; left > 0;) {
      const messages = await consumer.fetch({
        max_messages: Math.min(BATCH, left),
        expires: ANSWER_WITHIN_MS,
      });
      const before = bodies.length;
      for await (const message of messages) {
        bodies.push(message.json());
        left = message.info.pending;
        if (left === 0) break;
      }
      // The message was removed meanwhile.
      if (bodies.length === before) return bodies;
    }
    return bodies;
  } catch (error) {
    if (UNREADABLE.some((kind) => error instanceof kind)) return undefined;
    throw error;
  }
};
