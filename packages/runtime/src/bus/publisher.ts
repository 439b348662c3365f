import { createInbox, type Msg, type NatsConnection } from '@nats-io/transport-node';
import type { Publisher, WireMessage } from '../engine/ports.ts';
import { wireHeaders } from './headers.ts';

/** After this the fate of a publish is unknown; its outbox row stays, and the sweeper publishes it again. */
const CONFIRM_TIMEOUT_MS = 3_000;

type Pending = { left: number; ok: boolean; readonly done: () => void };

/**
 * The only place that publishes. All messages of a batch share one inbox and one timer, instead of a request each.
 */
export const createNatsPublisher = (connection: NatsConnection, inboxPrefix: string): Publisher => {
  const inbox = createInbox(inboxPrefix);
  const pending = new Map<string, Pending>();
  let batches = 0;

  connection.subscribe(`${inbox}.*`, {
    callback: (error, msg) => {
      const batch = pending.get(msg.subject.slice(inbox.length + 1));
      if (batch === undefined) return;
      batch.left -= 1;
      batch.ok &&= error === null && confirms(msg);
      if (batch.left === 0) batch.done();
    },
  });

  return {
    publish: (messages) =>
      new Promise((resolve) => {
        batches += 1;
        const token = String(batches);
        const timeout = setTimeout(() => settle(false), CONFIRM_TIMEOUT_MS);
        const batch: Pending = { left: messages.length, ok: true, done: () => settle(batch.ok) };
        const settle = (all: boolean): void => {
          clearTimeout(timeout);
          pending.delete(token);
          resolve(all);
        };
        pending.set(token, batch);
        try {
          for (const message of messages) send(connection, message, `${inbox}.${token}`);
        } catch {
          // A closed connection: nothing is confirmed, which is what the caller has to know.
          settle(false);
        }
      }),
  };
};

const send = (connection: NatsConnection, { subject, headers, body }: WireMessage, reply: string): void => {
  connection.publish(subject, body, { reply, headers: wireHeaders(headers) });
};

/** JetStream confirms with the stream and sequence; anything else (no responders, an error) confirms nothing. */
const confirms = (msg: Msg): boolean => {
  if (msg.headers?.hasError === true || msg.data.length === 0) return false;
  const ack: unknown = msg.json();
  return typeof ack === 'object' && ack !== null && 'seq' in ack && !('error' in ack);
};
