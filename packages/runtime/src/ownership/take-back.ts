import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { ConsumerDeclaration } from '@holdpoint/contracts/bus/streams';
import { ifThere } from '../bus/topology.ts';

/** More than a consumer lets be pending. Other messages lie in between, so a few may be left to their acknowledgement wait. */
const LOOKED_AT_MAX = 100_000;
const NANOS_PER_MS = 1_000_000;

/**
 * Asks the bus to deliver at once what an earlier owner has taken and not acknowledged, instead of after the
 * acknowledgement wait. The numbers stand in the subject of an acknowledgement; the bus ignores those that are not pending.
 * Returns how many were pending.
 */
export const takeBack = async (
  connection: NatsConnection,
  { stream, name }: Pick<ConsumerDeclaration, 'stream' | 'name'>,
): Promise<number> => {
  const manager = await jetstreamManager(connection, { checkAPI: false });
  const info = await ifThere(manager.consumers.info(stream, name));
  if (info === undefined || info.num_ack_pending === 0) return 0;
  const { ack_floor: floor, delivered } = info;
  const place = String(delivered.consumer_seq);
  const time = String(Date.now() * NANOS_PER_MS);
  const first = Math.max(floor.stream_seq + 1, delivered.stream_seq - LOOKED_AT_MAX);
  for (let seq = delivered.stream_seq; seq >= first; seq -= 1)
    connection.publish(`$JS.ACK.${stream}.${name}.1.${String(seq)}.${place}.${time}.0`, '-NAK');
  await connection.flush();
  return info.num_ack_pending;
};
