import { jetstream, jetstreamManager, type PubAck } from '@nats-io/jetstream';
import { headers as createHeaders, type NatsConnection } from '@nats-io/transport-node';
import { consumers } from '@holdpoint/contracts/bus/streams';
import { type ServiceName, SERVICES } from '@holdpoint/contracts/bus/subjects';
import { untilTrue } from '../until.ts';

/**
 * Publishes as an independent client, and resolves once JetStream has stored it. The id goes into `ce-id`,
 * not into `Nats-Msg-Id`.
 */
export const publish = (
  connection: NatsConnection,
  subject: string,
  body: string | Uint8Array,
  { id, messageId }: { readonly id?: string; readonly messageId?: string } = {},
): Promise<PubAck> => {
  const headers = createHeaders();
  if (id !== undefined) headers.set('ce-id', id);
  if (messageId !== undefined) headers.set('Nats-Msg-Id', messageId);
  return jetstream(connection).publish(subject, body, { headers });
};

/**
 * Waits until these services (all if omitted) have handled every message: nothing is pending or
 * unacknowledged.
 */
export const untilHandled = async (
  connection: NatsConnection,
  services: readonly ServiceName[] = SERVICES,
): Promise<void> => {
  const manager = await jetstreamManager(connection, { checkAPI: false });
  await untilTrue('everything on the bus is handled', async () => {
    const infos = await Promise.all(
      consumers
        .filter(({ service }) => services.includes(service))
        .map(({ stream, name }) => manager.consumers.info(stream, name)),
    );
    return infos.every((info) => info.num_pending + info.num_ack_pending === 0);
  });
};
