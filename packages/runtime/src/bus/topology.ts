import { setTimeout as delay } from 'node:timers/promises';
import {
  AckPolicy,
  type ConsumerConfig,
  type ConsumerInfo,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  StoreCompression,
  type StreamInfo,
} from '@nats-io/jetstream';
import {
  type ConsumerDeclaration,
  consumers,
  type StreamDeclaration,
  streams,
} from '@holdpoint/contracts/bus/streams';

const NANOS_PER_MS = 1_000_000;
const CREATED_BY_OTHERS_MS = 100;
const CREATED_BY_OTHERS_LOOKS = 20;

/** The consumers, and the number of replicas of each stream: 1, 3 or 5. */
export type Topology = { readonly consumers: readonly ConsumerDeclaration[]; readonly replicas: number };

export const ALONE: Topology = { consumers, replicas: 1 };

const streamConfig = (stream: StreamDeclaration, replicas: number) => ({
  name: stream.name,
  subjects: [...stream.subjects],
  description: stream.description,
  retention: RetentionPolicy.Limits,
  // PostgreSQL is the record: a full stream drops its oldest messages instead of blocking the publishers.
  discard: DiscardPolicy.Old,
  storage: StorageType.File,
  // Messages repeat names, keys and each other's bodies: full blocks shrink to less than a fifth.
  compression: StoreCompression.S2,
  max_age: stream.maxAgeMs * NANOS_PER_MS,
  max_bytes: stream.maxBytes,
  duplicate_window: stream.duplicateWindowMs * NANOS_PER_MS,
  num_replicas: replicas,
  deny_delete: true,
  deny_purge: true,
  allow_direct: true,
});

/** The configuration of a consumer, without its start in the stream, which cannot be changed later. */
export const consumerConfig = (
  consumer: Omit<ConsumerDeclaration, 'service'>,
): Partial<ConsumerConfig> & { readonly durable_name: string } => ({
  durable_name: consumer.name,
  description: consumer.description,
  filter_subject: consumer.filter,
  ack_policy: AckPolicy.Explicit,
  ack_wait: consumer.ackWaitMs * NANOS_PER_MS,
  max_deliver: -1,
  max_ack_pending: consumer.maxAckPending,
});

const isMissing = (error: unknown): boolean => error instanceof JetStreamApiError && error.status === 404;

/** Undefined when it does not exist. */
export const ifThere = <Info>(asking: Promise<Info>): Promise<Info | undefined> =>
  asking.catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });

/**
 * Creates what does not exist. Another replica may create it at the same moment, and the server then refuses
 * with various errors: only its existence afterwards counts.
 */
export const createUnlessMadeByOthers = async <Info>(
  create: () => Promise<Info>,
  find: () => Promise<Info>,
): Promise<Info> => {
  try {
    return await create();
  } catch (error) {
    for (let looks = 0; looks < CREATED_BY_OTHERS_LOOKS; looks += 1) {
      await delay(CREATED_BY_OTHERS_MS);
      const found = await ifThere(find());
      if (found !== undefined) return found;
    }
    throw error;
  }
};

const findConsumer = (
  manager: JetStreamManager,
  { stream, name }: Pick<ConsumerDeclaration, 'stream' | 'name'>,
) => ifThere(manager.consumers.info(stream, name));

export const createConsumer = (
  manager: JetStreamManager,
  stream: string,
  config: Partial<ConsumerConfig> & { readonly durable_name: string },
): Promise<ConsumerInfo> =>
  createUnlessMadeByOthers(
    () => manager.consumers.add(stream, config),
    () => manager.consumers.info(stream, config.durable_name),
  );

/** The declared streams and consumers as they were before this look created the missing ones. */
export type TopologyLook = {
  readonly made: readonly string[];
  readonly streams: ReadonlyMap<string, StreamInfo>;
  readonly consumers: readonly ConsumerInfo[];
};

/** Creates missing streams and consumers. */
export const assertTopology = async (
  manager: JetStreamManager,
  { consumers: declared, replicas }: Topology = ALONE,
): Promise<TopologyLook> => {
  const made: string[] = [];
  const found = new Map<string, StreamInfo>();
  // Consumers before streams: what is delivered in between must not look like a consumer that is ahead.
  const there = await Promise.all(declared.map((consumer) => findConsumer(manager, consumer)));
  const before = await Promise.all(streams.map(({ name }) => ifThere(manager.streams.info(name))));
  for (const [index, stream] of streams.entries()) {
    const config = streamConfig(stream, replicas);
    const info = before[index];
    if (info === undefined) made.push(config.name);
    found.set(
      config.name,
      info ??
        (await createUnlessMadeByOthers(
          () => manager.streams.add(config),
          () => manager.streams.info(config.name),
        )),
    );
  }
  const missing = declared.filter((_, index) => there[index] === undefined);
  for (const consumer of missing) {
    // A consumer that is created again replays the stream: harmless, because deciding twice changes nothing.
    await createConsumer(manager, consumer.stream, {
      ...consumerConfig(consumer),
      deliver_policy: DeliverPolicy.All,
    });
    made.push(`${consumer.stream}/${consumer.name}`);
  }
  return { made, streams: found, consumers: there.filter((info) => info !== undefined) };
};

/** Another replica may make the thing anew at this moment. What stays missing is created by the next look. */
const updateUnlessMissing = async (update: () => Promise<unknown>): Promise<void> => {
  for (let looks = 0; looks < CREATED_BY_OTHERS_LOOKS; looks += 1) {
    if ((await ifThere(update())) !== undefined) return;
    await delay(CREATED_BY_OTHERS_MS);
  }
};

/** Updates streams and consumers of an earlier release to the declarations of this one. */
export const updateTopology = async (
  manager: JetStreamManager,
  { consumers: declared, replicas }: Topology = ALONE,
): Promise<void> => {
  await Promise.all(
    streams.map((stream) =>
      updateUnlessMissing(() => manager.streams.update(stream.name, streamConfig(stream, replicas))),
    ),
  );
  await Promise.all(
    declared.map((consumer) =>
      updateUnlessMissing(() =>
        manager.consumers.update(consumer.stream, consumer.name, consumerConfig(consumer)),
      ),
    ),
  );
};
