import type { NatsConnection } from '@nats-io/transport-node';

export type Watch = { readonly stop: () => Promise<void> };

/**
 * Calls for every message on these subjects, also an unreadable one, and for a refused subscription. The store has the events:
 * the caller reads them there. After it resolves, no message is missed.
 */
export const watchSubjects = async (
  connection: NatsConnection,
  filter: string,
  onMessage: () => void,
): Promise<Watch> => {
  const subscription = connection.subscribe(filter, { callback: () => onMessage() });
  // The pong arrives after the server has registered the subscription.
  await connection.flush();
  return { stop: () => subscription.drain() };
};
