import { jetstream, jetstreamManager, type PubAck } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { consumers } from '@holdpoint/contracts/bus/streams';
import { type ServiceName, SERVICES } from '@holdpoint/contracts/bus/subjects';
import { currentRun } from '../stack/run.ts';
import { untilTrue } from '../until.ts';
import { natsHeaders, sealFor } from './seals.ts';

/**
 * Publishes as an independent client, and resolves once JetStream has stored it. The id goes into `ce-id`,
 * not into `Nats-Msg-Id`. A message between services gets the seal of the only service that may send it.
 */
export const publish = async (
  connection: NatsConnection,
  subject: string,
  body: string | Uint8Array,
  { id, messageId }: { readonly id?: string; readonly messageId?: string } = {},
): Promise<PubAck> => {
  const sealed = await sealFor(connection, currentRun().credentialsDir, subject, body, id);
  return publishWith(connection, subject, body, {
    ...sealed,
    ...(messageId !== undefined && { 'Nats-Msg-Id': messageId }),
  });
};

/** Publishes with exactly these headers. */
export const publishWith = (
  connection: NatsConnection,
  subject: string,
  body: string | Uint8Array,
  named: Readonly<Record<string, string>>,
): Promise<PubAck> => {
  return jetstream(connection).publish(subject, body, { headers: natsHeaders(named) });
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
