import { type ConsumerMessages, jetstream, type JsMsg } from '@nats-io/jetstream';
import type { NatsConnection, Subscription } from '@nats-io/transport-node';
import { HEADERS } from '@holdpoint/contracts/cloudevents';
import { type ErrorBody, toErrorBody } from '@holdpoint/contracts/errors';
import { type ConsumerDeclaration, DELIVERIES_MAX } from '@holdpoint/contracts/streams';
import type { Engine } from '../engine.ts';
import { type Meta, parseJson, type Routed } from '../inbound.ts';
import { errorFields, type Logger } from '../log.ts';
import { deadLetterOf } from './dead-letter.ts';

/** One durable consumer and how its messages become the decider's. `undefined` means: not for this service. */
export type Inbound<Message> = {
  readonly consumer: ConsumerDeclaration;
  /** Looks at the subject alone: what it turns down is acknowledged without being read. Everything, when left out. */
  readonly wants?: (subject: string) => boolean;
  readonly decode: (subject: string, payload: unknown, meta: Meta) => Routed<Message> | undefined;
};

/** Messages that the client may hold: a few batches, so that the next one is there when the last has committed. */
const BUFFERED_MAX = 1_000;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 30_000;
const backoffMs = (deliveries: number): number =>
  Math.min(FIRST_RETRY_MS * 2 ** (deliveries - 1), LAST_RETRY_MS);
const OPEN_RETRY_MS = 500;

export type Source = { readonly stop: () => Promise<void>; readonly open: () => boolean };

/** Feeds one consumer's messages to the engine; the only place that acknowledges. */
export const startSource = <Message>(
  connection: NatsConnection,
  inbound: Inbound<Message>,
  engine: Pick<Engine<Message>, 'accept' | 'post'>,
  log: Logger,
): Source => {
  const { consumer } = inbound;
  let messages: ConsumerMessages | undefined;
  let stopped = false;

  const bury = (msg: JsMsg, reason: ErrorBody): void => {
    log.warn(
      { subject: msg.subject, code: reason.code, deliveries: msg.info.deliveryCount },
      'message goes to the dead letters',
    );
    const dead = {
      subject: msg.subject,
      headers: headersOf(msg),
      data: msg.data,
      deliveries: msg.info.deliveryCount,
    };
    const letter = deadLetterOf(
      consumer.service,
      { ...dead, identity: identityOf(msg), at: msg.time.getTime() },
      reason,
    );
    engine.post(letter, () => msg.ack());
  };

  const retryOrBury = (msg: JsMsg, reason: ErrorBody, cause: unknown): void => {
    log.error(
      { ...errorFields(cause), subject: msg.subject, deliveries: msg.info.deliveryCount },
      'message could not be handled',
    );
    if (msg.info.deliveryCount >= DELIVERIES_MAX) bury(msg, reason);
    else msg.nak(backoffMs(msg.info.deliveryCount));
  };

  const take = (msg: JsMsg): void => {
    if (inbound.wants?.(msg.subject) === false) {
      msg.ack();
      return;
    }
    let routed: Routed<Message> | undefined;
    try {
      routed = inbound.decode(msg.subject, parseJson(msg.data), { identity: identityOf(msg) });
    } catch (error) {
      bury(msg, toErrorBody(error));
      return;
    }
    if (routed === undefined) {
      msg.ack();
      return;
    }
    const { released = () => undefined } = routed;
    engine.accept({
      aggregate: routed.aggregate,
      message: routed.message,
      trace: msg.headers?.get(HEADERS.trace) || undefined,
      settled: (answer) => {
        released();
        // Nobody waits for an answer here, so a refusal is kept where it can be seen.
        if (answer !== undefined && 'error' in answer) bury(msg, answer.error);
        else msg.ack();
      },
      failed: (reason, cause) => {
        released();
        retryOrBury(msg, reason, cause);
      },
      unavailable: () => {
        released();
        msg.nak(backoffMs(msg.info.deliveryCount));
      },
    });
  };

  const open = async (): Promise<void> => {
    while (!stopped && messages === undefined) {
      try {
        const source = await jetstream(connection).consumers.get(consumer.stream, consumer.name);
        messages = await source.consume({
          callback: take,
          max_messages: BUFFERED_MAX,
          expires: 10_000,
          idle_heartbeat: 1_000,
        });
      } catch (error) {
        // The orchestrator creates streams and consumers; until it has, there is nothing to read.
        log.info({ ...errorFields(error), consumer: consumer.name }, 'waiting for the consumer');
        await new Promise((resolve) => setTimeout(resolve, OPEN_RETRY_MS));
      }
    }
  };
  const opening = open();

  return {
    open: () => messages !== undefined,
    stop: async () => {
      stopped = true;
      await opening;
      if (messages === undefined) return;
      await drain(messages);
      await messages.close();
    },
  };
};

// Closing drops what the server sends until it has heard of it, and that would only come again after its ack wait.
// Draining takes those messages first. The library offers it for plain subscriptions alone; where its inside looks
// different, they come late.
const drain = async (messages: ConsumerMessages): Promise<void> => {
  if ('sub' in messages) await (messages as unknown as { readonly sub?: Subscription }).sub?.drain();
};

const headersOf = (msg: JsMsg): Record<string, string> =>
  Object.fromEntries((msg.headers?.keys() ?? []).map((name) => [name, msg.headers?.get(name) ?? '']));

// Sequence numbers start again when the storage is lost; with the time of arrival they do not repeat.
const identityOf = (msg: JsMsg): string =>
  msg.headers?.get(HEADERS.id) ||
  msg.headers?.get(HEADERS.messageId) ||
  `${msg.info.stream}/${String(msg.info.streamSequence)}/${String(msg.info.timestampNanos)}`;
