import type { NatsConnection } from '@nats-io/transport-node';
import { type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import { wireHeaders } from '../bus/headers.ts';
import type { HandOnBus } from './hand-on.ts';

/** Below the time that a caller waits, so that one frozen owner does not use it up. */
const ANSWER_WITHIN_MS = 1_500;

/**
 * Requests among the replicas of one service. They share an account, in which no user may publish to an inbox, so the answers
 * have subjects of their own.
 */
export const handOnBus = (connection: NatsConnection, service: ServiceName): HandOnBus => ({
  request: async (subject, body, headers) => {
    try {
      const { data } = await connection.request(subject, body, {
        timeout: ANSWER_WITHIN_MS,
        noMux: true,
        reply: subjects.ownAnswer(service, crypto.randomUUID()),
        ...(headers.length > 0 && { headers: wireHeaders(headers) }),
      });
      return data;
    } catch {
      // No owner, or none that answers: the caller asks again.
      return undefined;
    }
  },
  listen: (subject, hear) => {
    const subscription = connection.subscribe(subject, {
      callback: (error, msg) => {
        if (error !== null) return;
        const { headers, data } = msg;
        hear({
          subject: msg.subject,
          data,
          header: (name) => headers?.get(name) || undefined,
          respond: (answer) => void msg.respond(answer),
        });
      },
    });
    return { stop: () => subscription.unsubscribe() };
  },
});
