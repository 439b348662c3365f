import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { type ConsumerDeclaration, streams } from '@holdpoint/contracts/bus/streams';
import type { AddPolledMetrics } from '../observability/polled-metrics.ts';
import { ifThere } from './topology.ts';

/** How far the consumers of a service are behind. Its user may ask that of its own consumers. At a first start there are none yet. */
export const pollConsumerMetrics = (
  connection: NatsConnection,
  own: readonly ConsumerDeclaration[],
  sample: AddPolledMetrics,
): void => {
  const labels = ['consumer', 'stream'];
  sample(
    {
      consumer_pending: { help: 'Messages that a consumer has not handed out yet', labels },
      consumer_ack_pending: { help: 'Messages that are handed out and not acknowledged', labels },
      consumer_ack_pending_max: { help: 'So many may be handed out and not acknowledged', labels },
      consumer_redelivered: { help: 'Messages that are handed out once more', labels },
      consumer_ack_floor: { help: 'Everything in the stream up to here is acknowledged', labels },
    },
    async () => {
      const manager = await jetstreamManager(connection, { checkAPI: false });
      const found = await Promise.all(
        own.map(async ({ name, stream }) => {
          const info = await ifThere(manager.consumers.info(stream, name));
          return info && { labels: { consumer: name, stream }, info };
        }),
      );
      const infos = found.filter((one) => one !== undefined);
      const each = (read: (info: (typeof infos)[number]['info']) => number) =>
        infos.map((one) => ({ labels: one.labels, value: read(one.info) }));
      return {
        consumer_pending: each((info) => info.num_pending),
        consumer_ack_pending: each((info) => info.num_ack_pending),
        consumer_ack_pending_max: each((info) => info.config.max_ack_pending ?? 0),
        consumer_redelivered: each((info) => info.num_redelivered),
        consumer_ack_floor: each((info) => info.ack_floor.stream_seq),
      };
    },
  );
};

/** What the streams hold. For the one service that has the user who may ask. */
export const pollStreamMetrics = (connection: NatsConnection, sample: AddPolledMetrics): void => {
  const names = streams.map(({ name }) => name);
  const labels = ['stream'];
  sample(
    {
      stream_messages: { help: 'Messages in a stream', labels },
      stream_bytes: { help: 'Bytes of a stream', labels },
      stream_first_sequence: { help: 'The oldest message that a stream still has', labels },
      stream_last_sequence: { help: 'The latest message of a stream', labels },
    },
    async () => {
      const manager = await jetstreamManager(connection, { checkAPI: false });
      const found = await Promise.all(
        names.map(async (stream) => {
          const info = await ifThere(manager.streams.info(stream));
          return info && { stream, state: info.state };
        }),
      );
      const infos = found.filter((one) => one !== undefined);
      const each = (read: (state: (typeof infos)[number]['state']) => number) =>
        infos.map(({ stream, state }) => ({ labels: { stream }, value: read(state) }));
      return {
        stream_messages: each((state) => state.messages),
        stream_bytes: each((state) => state.bytes),
        stream_first_sequence: each((state) => state.first_seq),
        stream_last_sequence: each((state) => state.last_seq),
      };
    },
  );
};
