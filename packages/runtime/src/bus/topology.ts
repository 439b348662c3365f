import { setTimeout as delay } from 'node:timers/promises';
import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiError,
  jetstreamManager,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import {
  type BucketDeclaration,
  buckets,
  type ConsumerDeclaration,
  consumers,
  type StreamDeclaration,
  streams,
} from '@holdpoint/contracts/bus/streams';
import { errorFields } from '../engine/error-fields.ts';
import type { Logger } from '../observability/log.ts';

const NANOS_PER_MS = 1_000_000;
/** Maximum time until a vanished stream or consumer is created again. */
export const ASSERT_EVERY_MS = 2_000;
const CREATED_BY_OTHERS_MS = 100;
const CREATED_BY_OTHERS_LOOKS = 20;

/** The consumers, and the number of replicas of each stream: 1, 3 or 5. */
export type Topology = { readonly consumers: readonly ConsumerDeclaration[]; readonly replicas: number };

const ALONE: Topology = { consumers, replicas: 1 };

const streamConfig = (stream: StreamDeclaration, replicas: number) => ({
  name: stream.name,
  subjects: [...stream.subjects],
  description: stream.description,
  retention: RetentionPolicy.Limits,
  // PostgreSQL is the record: a full stream drops its oldest messages instead of blocking the publishers.
  discard: DiscardPolicy.Old,
  storage: StorageType.File,
  max_age: stream.maxAgeMs * NANOS_PER_MS,
  max_bytes: stream.maxBytes,
  duplicate_window: stream.duplicateWindowMs * NANOS_PER_MS,
  num_replicas: replicas,
  deny_delete: true,
  allow_direct: true,
});

/** The stream of an object store, as the client library expects it. */
const bucketConfig = (bucket: BucketDeclaration, replicas: number) => ({
  name: bucket.stream,
  subjects: [`$O.${bucket.name}.C.>`, `$O.${bucket.name}.M.>`],
  description: bucket.description,
  retention: RetentionPolicy.Limits,
  // A reader notices missing chunks by the digest, so that a full bucket never blocks writers.
  discard: DiscardPolicy.Old,
  storage: StorageType.File,
  max_age: bucket.maxAgeMs * NANOS_PER_MS,
  max_bytes: bucket.maxBytes,
  num_replicas: replicas,
  allow_rollup_hdrs: true,
  allow_direct: true,
});

const consumerConfig = (consumer: ConsumerDeclaration) => ({
  durable_name: consumer.name,
  description: consumer.description,
  filter_subject: consumer.filter,
  ack_policy: AckPolicy.Explicit,
  // A consumer that is created again replays the stream: harmless, because deciding twice changes nothing.
  deliver_policy: DeliverPolicy.All,
  ack_wait: consumer.ackWaitMs * NANOS_PER_MS,
  max_deliver: -1,
  max_ack_pending: consumer.maxAckPending,
});

const isMissing = (error: unknown): boolean => error instanceof JetStreamApiError && error.status === 404;

/**
 * Creates what does not exist. Another replica may create it at the same moment, and the server then refuses
 * with various errors: only its existence afterwards counts.
 */
const createUnlessThere = async (
  find: () => Promise<unknown>,
  create: () => Promise<unknown>,
): Promise<boolean> => {
  const isThere = (): Promise<boolean> =>
    find().then(
      () => true,
      (error: unknown) => {
        if (isMissing(error)) return false;
        throw error;
      },
    );
  if (await isThere()) return false;
  try {
    await create();
    return true;
  } catch (error) {
    for (let looks = 0; looks < CREATED_BY_OTHERS_LOOKS; looks += 1) {
      await delay(CREATED_BY_OTHERS_MS);
      if (await isThere()) return false;
    }
    throw error;
  }
};

const assertStream = (
  manager: JetStreamManager,
  stream: StreamDeclaration,
  replicas: number,
): Promise<boolean> =>
  createUnlessThere(
    () => manager.streams.info(stream.name),
    () => manager.streams.add(streamConfig(stream, replicas)),
  );

const assertBucket = (
  manager: JetStreamManager,
  bucket: BucketDeclaration,
  replicas: number,
): Promise<boolean> =>
  createUnlessThere(
    () => manager.streams.info(bucket.stream),
    () => manager.streams.add(bucketConfig(bucket, replicas)),
  );

const assertConsumer = (manager: JetStreamManager, consumer: ConsumerDeclaration): Promise<boolean> =>
  createUnlessThere(
    () => manager.consumers.info(consumer.stream, consumer.name),
    () => manager.consumers.add(consumer.stream, consumerConfig(consumer)),
  );

/** Creates missing streams, buckets and consumers; returns their names. */
export const assertTopology = async (
  manager: JetStreamManager,
  { consumers: declared, replicas }: Topology = ALONE,
): Promise<readonly string[]> => {
  const made: string[] = [];
  for (const stream of streams) if (await assertStream(manager, stream, replicas)) made.push(stream.name);
  for (const bucket of buckets) if (await assertBucket(manager, bucket, replicas)) made.push(bucket.stream);
  for (const consumer of declared)
    if (await assertConsumer(manager, consumer)) made.push(`${consumer.stream}/${consumer.name}`);
  return made;
};

/** Updates streams and consumers of an earlier release to the declarations of this one. */
export const updateTopology = async (
  manager: JetStreamManager,
  { consumers: declared, replicas }: Topology = ALONE,
): Promise<void> => {
  for (const stream of streams) await manager.streams.update(stream.name, streamConfig(stream, replicas));
  for (const bucket of buckets) await manager.streams.update(bucket.stream, bucketConfig(bucket, replicas));
  for (const consumer of declared)
    await manager.consumers.update(consumer.stream, consumer.name, consumerConfig(consumer));
};

/** Creates the topology at the start, and checks it every two seconds, because the bus may lose it. */
export const keepTopology = async (
  connection: NatsConnection,
  log: Logger,
  topology: Topology = ALONE,
): Promise<{ readonly stop: () => void }> => {
  const manager = await jetstreamManager(connection, { checkAPI: false });
  const assert = async (): Promise<void> => {
    const made = await assertTopology(manager, topology);
    if (made.length > 0) log.info({ made }, 'streams and consumers created');
  };
  await assert();
  await updateTopology(manager, topology);
  let busy = false;
  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    void assert()
      .catch((error: unknown) => log.warn(errorFields(error), 'streams and consumers could not be checked'))
      .finally(() => (busy = false));
  }, ASSERT_EVERY_MS);
  return { stop: () => clearInterval(timer) };
};
