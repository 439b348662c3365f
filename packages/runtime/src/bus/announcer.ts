import type { NatsConnection } from '@nats-io/transport-node';
import type { Announce } from '../engine/ports.ts';

/** So much may be on its way to the server at a time; what the client keeps for a slow one would otherwise have no bound. */
const UNDER_WAY_BYTES_MAX = 4 * 1_024 * 1_024;

type Bus = Pick<NatsConnection, 'publish' | 'flush' | 'status'>;

/** Publishes without a confirmation, for as long as the connection is there and keeps up. */
export const createAnnouncer = (connection: Bus): Announce => {
  let away = false;
  let underWay = 0;
  let measuring = false;

  const follow = async (): Promise<void> => {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect' || type === 'close') away = true;
      else if (type === 'reconnect') away = false;
    }
  };
  // One question at a time: when the server answers it, what went before has arrived there, or was lost on the way.
  const measure = (): void => {
    if (measuring) return;
    measuring = true;
    const asked = underWay;
    const answered = (): void => {
      underWay -= asked;
      measuring = false;
      if (underWay > 0) measure();
    };
    connection.flush().then(answered, answered);
  };

  void follow();
  return (subject, body) => {
    if (away || underWay + body.length > UNDER_WAY_BYTES_MAX) return false;
    try {
      connection.publish(subject, body);
    } catch {
      // A closed connection takes nothing, which is what the caller has to know.
      return false;
    }
    underWay += body.length;
    measure();
    return true;
  };
};
