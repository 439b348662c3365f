import { randomUUID } from 'node:crypto';
import { createInbox, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import type { Publisher, WireMessage } from '../engine/ports.ts';
import { wireHeaders } from './headers.ts';

/** After this the fate of a publish is unknown; its outbox row stays, and the sweeper publishes it again. */
const CONFIRM_TIMEOUT_MS = 3_000;

type Pending = {
  readonly messages: readonly WireMessage[];
  left: number;
  ok: boolean;
  readonly until: number;
  readonly done: (all: boolean) => void;
};

/**
 * The only place that publishes. All messages of a batch share one inbox, and all batches one timer, instead of a request each.
 * A message that the bus calls a duplicate goes out again under another `Nats-Msg-Id`: its row was never confirmed, so the
 * id may belong to another message. `ce-id` stays the same, so that receivers know a repeat.
 */
export const createNatsPublisher = (connection: NatsConnection, inboxPrefix: string): Publisher => {
  const inbox = createInbox(inboxPrefix);
  const pending = new Map<string, Pending>();
  let batches = 0;
  let isWatching = false;

  const settleOne = (batch: Pending, ok: boolean): void => {
    batch.left -= 1;
    batch.ok &&= ok;
    if (batch.left === 0) batch.done(batch.ok);
  };

  /** Waits for the oldest batch, and gives up those that are overdue. Once it runs, batches that end leave it alone. */
  const watch = (): void => {
    const [oldest] = pending.values();
    if (oldest === undefined || isWatching) return;
    isWatching = true;
    const look = (): void => {
      isWatching = false;
      const now = performance.now();
      for (const batch of pending.values()) if (batch.until <= now) batch.done(false);
      watch();
    };
    setTimeout(look, Math.ceil(oldest.until - performance.now())).unref();
  };

  connection.subscribe(`${inbox}.*.*`, {
    callback: (error, msg) => {
      const [token = '', index = ''] = msg.subject.slice(inbox.length + 1).split('.');
      const batch = pending.get(token);
      const message = batch?.messages[Number(index)];
      if (batch === undefined || message === undefined) return;
      const fate = error === null ? fateIn(msg) : 'unknown';
      if (fate !== 'duplicate') return settleOne(batch, fate === 'stored');
      try {
        send(connection, underAnotherId(message), msg.subject);
      } catch {
        settleOne(batch, false);
      }
    },
  });

  return {
    publish: (messages) =>
      new Promise((resolve) => {
        batches += 1;
        const token = String(batches);
        const settle = (all: boolean): void => {
          pending.delete(token);
          resolve(all);
        };
        const until = performance.now() + CONFIRM_TIMEOUT_MS;
        pending.set(token, { messages, left: messages.length, ok: true, until, done: settle });
        watch();
        try {
          messages.forEach((message, index) =>
            send(connection, message, `${inbox}.${token}.${String(index)}`),
          );
        } catch {
          // A closed connection: nothing is confirmed, which is what the caller has to know.
          settle(false);
        }
      }),
  };
};

const send = (connection: NatsConnection, { subject, headers, body }: WireMessage, reply: string): void => {
  // The encoder of the client takes twice as long.
  connection.publish(subject, Buffer.from(body), { reply, headers: wireHeaders(headers) });
};

const underAnotherId = (message: WireMessage): WireMessage => ({
  ...message,
  headers: message.headers.map(([name, value]) =>
    name === HEADERS.messageId ? [name, `${value}.${randomUUID()}`] : [name, value],
  ),
});

/** JetStream confirms with the stream and sequence; anything else (no responders, an error) confirms nothing. */
const fateIn = (msg: Msg): 'stored' | 'duplicate' | 'unknown' => {
  if (msg.headers?.hasError === true || msg.data.length === 0) return 'unknown';
  const ack: unknown = msg.json();
  if (typeof ack !== 'object' || ack === null || !('seq' in ack) || 'error' in ack) return 'unknown';
  return 'duplicate' in ack && ack.duplicate === true ? 'duplicate' : 'stored';
};
