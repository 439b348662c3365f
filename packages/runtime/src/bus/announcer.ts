import type { NatsConnection } from '@nats-io/transport-node';
import type { HeaderPairs } from '@holdpoint/contracts/bus/cloudevents';
import type { Announce } from '../engine/ports.ts';
import { wireHeaders } from './headers.ts';

/** Maximum bytes on the way to the server: otherwise the buffer for a slow server would be unbounded. */
const UNDER_WAY_BYTES_MAX = 4 * 1_024 * 1_024;

type Bus = Pick<NatsConnection, 'publish' | 'flush' | 'status'>;

/** Publishes without confirmation, as long as the connection is up and keeps pace. */
export const createAnnouncer = (
  connection: Bus,
  /** Headers of a message, such as its seal. Left out: none. */
  headersOf: (subject: string, body: string) => HeaderPairs | undefined = () => undefined,
): Announce => {
  let away = false;
  let underWay = 0;
  let measuring = false;

  const follow = async (): Promise<void> => {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect' || type === 'close') away = true;
      else if (type === 'reconnect') away = false;
    }
  };
  // One flush at a time: when it returns, earlier messages have arrived, or are lost.
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
      const headers = headersOf(subject, body);
      connection.publish(subject, body, headers && { headers: wireHeaders(headers) });
    } catch {
      // A closed connection accepts nothing: the caller learns that.
      return false;
    }
    underWay += body.length;
    measure();
    return true;
  };
};
