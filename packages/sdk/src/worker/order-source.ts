import { workConsumer } from '@holdpoint/contracts/bus/streams';
import { type Consumer, type ConsumerMessages, jetstream, type JsMsg } from '@nats-io/jetstream';
import type { NatsConnection, Subscription } from '@nats-io/transport-node';

const API_TIMEOUT_MS = 3_000;

/** The orders of one version. */
export type OrderSource = {
  /** Delivers at most this many orders within that time. Throws when the consumer is unreachable. */
  readonly pull: (most: number, withinMs: number, take: (order: JsMsg) => void) => Promise<void>;
  /** Stops the delivery. */
  readonly stop: () => void;
};

/** The durable consumer of a version, which the orchestrator creates when the version is registered. */
const openConsumer = (connection: NatsConnection, hash: string): Promise<Consumer> => {
  const { stream, name } = workConsumer(hash);
  return jetstream(connection, { checkAPI: false, timeout: API_TIMEOUT_MS }).consumers.get(stream, name);
};

/** Pulls nothing before `registered`: until then a new version has no consumer, which would look like an outage. */
export const createOrderSource = (
  connection: NatsConnection,
  hash: string,
  registered: Promise<unknown>,
): OrderSource => {
  let opened: Promise<Consumer> | undefined;
  let stopped = false;
  const open = new Set<ConsumerMessages>();

  return {
    pull: async (most, withinMs, take) => {
      try {
        const consumer = await (opened ??= registered.then(() => openConsumer(connection, hash)));
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
