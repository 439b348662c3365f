import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { type Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { streams } from '@holdpoint/contracts/bus/streams';
import { DeliverPolicy, jetstream, type JsMsg } from '@nats-io/jetstream';
import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node';

/** An event from the bus. It can arrive twice or out of order; `version` tells. */
export type BusEvent = {
  readonly subject: string;
  readonly aggregate: string;
  readonly event: string;
  readonly id: string;
  /** Gapless per aggregate. */
  readonly version: number | undefined;
  /** Epoch milliseconds. */
  readonly at: number | undefined;
  readonly data: Readonly<Record<string, Json>>;
};

export type Watch = { readonly stop: () => Promise<void> };

export type WatchOptions = {
  /** Delivers the stored events first. */
  readonly replay?: boolean;
  /** Called for invalid messages and refused subscriptions. By default it ends the process. */
  readonly onError?: (error: Error) => void;
};

const EVENTS: (typeof streams)[number]['name'] = 'HP_EVT';

/** Headers are untrusted: useless values are ignored. */
const numberOf = (text: string | undefined, read: (text: string) => number): number | undefined => {
  const number = text ? read(text) : undefined;
  return Number.isSafeInteger(number) ? number : undefined;
};

const busEventOf = (subject: string, headers: MsgHdrs | undefined, body: () => unknown): BusEvent => {
  const [, , aggregate = '', event = '', id = ''] = subject.split('.');
  const version = headers?.get(HEADERS.version);
  const time = headers?.get(HEADERS.time);
  return {
    subject,
    aggregate,
    event,
    id,
    version: numberOf(version, Number),
    at: numberOf(time, Date.parse),
    data: JsonObject.parse(body()),
  };
};

const endProcess = (error: Error): void => {
  queueMicrotask(() => {
    throw error;
  });
};

/** Subscribes to events; `filter` comes from `filters` of the contracts. */
export const watchEvents = async (
  connection: NatsConnection,
  filter: string,
  onFact: (fact: BusEvent) => void,
  { replay = false, onError = endProcess }: WatchOptions = {},
): Promise<Watch> => {
  const take = (msg: Msg | JsMsg): void => {
    let fact: BusEvent;
    try {
      fact = busEventOf(msg.subject, msg.headers, () => msg.json());
    } catch (cause) {
      onError(new Error(`not an event: ${msg.subject}`, { cause }));
      return;
    }
    onFact(fact);
  };
  return replay ? replayThenFollow(connection, filter, take) : follow(connection, filter, take, onError);
};

const follow = async (
  connection: NatsConnection,
  filter: string,
  take: (msg: Msg) => void,
  onError: (error: Error) => void,
): Promise<Watch> => {
  const subscription = connection.subscribe(filter, {
    callback: (error, msg) => (error === null ? take(msg) : onError(error)),
  });
  // The pong arrives after the server has registered the subscription.
  await connection.flush();
  return { stop: () => subscription.drain() };
};

const replayThenFollow = async (
  connection: NatsConnection,
  filter: string,
  take: (msg: JsMsg) => void,
): Promise<Watch> => {
  const consumer = await jetstream(connection).consumers.get(EVENTS, {
    // A single filter as text: a list needs another API subject, without permission, and server 2.10.
    filter_subjects: filter,
    deliver_policy: DeliverPolicy.All,
  });
  const messages = await consumer.consume({ callback: take, max_messages: 500 });
  return {
    stop: async () => {
      const error = await messages.close();
      if (error instanceof Error) throw error;
    },
  };
};
