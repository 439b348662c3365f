import { workConsumer } from '@holdpoint/contracts/bus/streams';
import {
  AckPolicy,
  type Consumer,
  type ConsumerMessages,
  DeliverPolicy,
  jetstream,
  JetStreamApiError,
  jetstreamManager,
  type JsMsg,
} from '@nats-io/jetstream';
import type { NatsConnection, Subscription } from '@nats-io/transport-node';

const NANOS_PER_MS = 1_000_000;
const NOT_FOUND = 404;
const API_TIMEOUT_MS = 3_000;

/** The orders of one version. */
export type OrderSource = {
  /** Delivers at most this many orders within that time. Throws when the consumer is unreachable. */
  readonly pull: (most: number, withinMs: number, take: (order: JsMsg) => void) => Promise<void>;
  /** Stops the delivery. */
  readonly stop: () => void;
};

/** Finds or creates the durable consumer of a version. Only workers create it. */
const openConsumer = async (connection: NatsConnection, hash: string): Promise<Consumer> => {
  const declared = workConsumer(hash);
  const options = { checkAPI: false, timeout: API_TIMEOUT_MS };
  const manager = await jetstreamManager(connection, options);
  const isThere = await manager.consumers.info(declared.stream, declared.name).then(
    () => true,
    (error: unknown) => {
      if (error instanceof JetStreamApiError && error.status === NOT_FOUND) return false;
      throw error;
    },
  );
  if (!isThere)
    await manager.consumers.add(declared.stream, {
      durable_name: declared.name,
      description: declared.description,
      filter_subject: declared.filter,
      ack_policy: AckPolicy.Explicit,
      // The lease shows which of the stored orders are over.
      deliver_policy: DeliverPolicy.All,
      ack_wait: declared.ackWaitMs * NANOS_PER_MS,
      max_deliver: -1,
      max_ack_pending: declared.maxAckPending,
    });
  return jetstream(connection, options).consumers.get(declared.stream, declared.name);
};

export const createOrderSource = (connection: NatsConnection, hash: string): OrderSource => {
  let opened: Promise<Consumer> | undefined;
  let stopped = false;
  const open = new Set<ConsumerMessages>();

  return {
    pull: async (most, withinMs, take) => {
      try {
        const consumer = await (opened ??= openConsumer(connection, hash));
        if (stopped) return;
        const messages = await consumer.fetch({ max_messages: most, expires: withinMs });
        open.add(messages);
        try {
          for await (const message of messages) take(message);
        } finally {
          open.delete(messages);
        }
        const error = await messages.closed();
        if (error instanceof Error) throw error;
      } catch (error) {
        // The next pull looks for it again.
        opened = undefined;
        throw error;
      }
    },
    stop: () => {
      stopped = true;
      for (const messages of open) drain(messages);
    },
  };
};

// Messages already sent would return only after their ack wait, so they are taken and given back at once. The
// library supports that for plain subscriptions only; if its internals change, these orders arrive late.
const drain = (messages: ConsumerMessages): void => {
  const { sub } = messages as unknown as { readonly sub?: Subscription };
  if (sub === undefined) messages.stop();
  else void sub.drain().catch(() => messages.stop());
};
