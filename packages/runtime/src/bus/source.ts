import { type ConsumerMessages, jetstream, type JsMsg } from '@nats-io/jetstream';
import type { NatsConnection, Subscription } from '@nats-io/transport-node';
import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import type { ConsumerDeclaration } from '@holdpoint/contracts/bus/streams';
import type { Delivery } from '../engine/intake.ts';
import { errorFields } from '../engine/error-fields.ts';
import type { Logger } from '../observability/log.ts';
import type { LateAcks } from './late-acks.ts';

/** Messages that the client buffers: a few batches, so that the next is ready after each commit. */
const BUFFERED_MAX = 1_000;
const OPEN_RETRY_MS = 500;
const PULL_MS = 10_000;
const HEARTBEAT_MS = 1_000;
const UNTAKEN_RETRY_MS = 30_000;

export type Source = { readonly stop: () => Promise<void>; readonly open: () => boolean };

/** Delivers the messages of a JetStream consumer, as soon as the consumer exists. */
export const startSource = (
  connection: NatsConnection,
  consumer: ConsumerDeclaration,
  take: (delivery: Delivery) => void,
  log: Logger,
  acks: LateAcks,
  /** How long the bus may still deliver to a process that has frozen. */
  pullMs = PULL_MS,
): Source => {
  let messages: ConsumerMessages | undefined;
  let stopped = false;
  /** Messages without an acknowledgement yet, and when the bus stored them: a server that lost its tail reuses numbers. */
  const underWay = new Map<number, number>();
  let server: string | undefined;

  /** An error in the callback would end the subscription. */
  const handOver = (msg: JsMsg): void => {
    const { streamSequence, timestampNanos } = msg.info;
    const from = connection.info?.server_id;
    // A server accepts no acknowledgement of a delivery of another one.
    if (from !== server) underWay.clear();
    server = from;
    // The bus redelivers a message after its ack wait. Queued copies would delay later messages, and cause more redeliveries.
    if (underWay.get(streamSequence) === timestampNanos) return;
    const settled = (): void => void underWay.delete(streamSequence);
    underWay.set(streamSequence, timestampNanos);
    try {
      const delivery = deliveryOf(msg, acks, () => connection.info?.server_id === from, settled);
      acks.during(() => take(delivery));
    } catch (error) {
      log.error({ ...errorFields(error), subject: msg.subject }, 'message could not be taken');
      settled();
      msg.nak(UNTAKEN_RETRY_MS);
    }
  };

  const open = async (): Promise<void> => {
    while (!stopped && messages === undefined) {
      try {
        const source = await jetstream(connection).consumers.get(consumer.stream, consumer.name);
        messages = await source.consume({
          callback: (msg) => handOver(msg),
          max_messages: BUFFERED_MAX,
          expires: pullMs,
          idle_heartbeat: Math.min(HEARTBEAT_MS, pullMs / 2),
        });
        // The service opens it again after any end.
        void messages.closed().then((cause) => {
          if (stopped) return;
          messages = undefined;
          log.warn({ ...errorFields(cause), consumer: consumer.name }, 'the subscription has ended');
          opening = open();
        });
      } catch (error) {
        // The orchestrator creates streams and consumers; until it has, there is nothing to read.
        log.info({ ...errorFields(error), consumer: consumer.name }, 'waiting for the consumer');
        await new Promise((resolve) => setTimeout(resolve, OPEN_RETRY_MS));
      }
    }
  };
  let opening = open();

  return {
    open: () => messages !== undefined,
    stop: async () => {
      stopped = true;
      await opening;
      if (messages === undefined) return;
      // A subscription that has ended meanwhile has nothing left to take.
      await drain(messages).catch((error: unknown) =>
        log.info({ ...errorFields(error), consumer: consumer.name }, 'the subscription had ended'),
      );
      acks.flush();
      await messages.close();
    },
  };
};

// Closing drops the messages that are still on their way, and the server redelivers them only after their ack wait.
// Draining takes those messages first. The library offers it for plain subscriptions only; if its internals change,
// these messages come late.
const drain = async (messages: ConsumerMessages): Promise<void> => {
  if ('sub' in messages) await (messages as unknown as { readonly sub?: Subscription }).sub?.drain();
};

/**
 * The client throws when malformed headers are read, and an error in the callback would end the subscription.
 */
const headersIn = (msg: JsMsg): JsMsg['headers'] => {
  try {
    return msg.headers;
  } catch {
    return undefined;
  }
};

/**
 * A server that has lost its tail gives numbers a second time, so an acknowledgement of another server life could take an
 * unread message. Only the server that delivered gets it.
 */
const deliveryOf = (
  msg: JsMsg,
  acks: LateAcks,
  isSameServer: () => boolean,
  /** The message was acknowledged or given back. */
  settled: () => void,
): Delivery => ({
  subject: msg.subject,
  data: msg.data,
  get deliveries() {
    return msg.info.deliveryCount;
  },
  get identity() {
    return identityOf(msg);
  },
  get at() {
    return msg.time.getTime();
  },
  header: (name) => headersIn(msg)?.get(name) || undefined,
  headers: () => {
    const headers = headersIn(msg);
    return Object.fromEntries((headers?.keys() ?? []).map((name) => [name, headers?.get(name) ?? '']));
  },
  ack: () => {
    settled();
    acks.send(() => {
      if (isSameServer()) msg.ack();
    });
  },
  giveBack: (delayMs) => {
    settled();
    if (isSameServer()) msg.nak(delayMs);
  },
});

// Sequence numbers start again when the storage is lost; with the time of arrival they do not repeat.
const identityOf = (msg: JsMsg): string =>
  headersIn(msg)?.get(HEADERS.id) ||
  headersIn(msg)?.get(HEADERS.messageId) ||
  `${msg.info.stream}/${String(msg.info.streamSequence)}/${String(msg.info.timestampNanos)}`;
