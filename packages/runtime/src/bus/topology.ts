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
/** How long a vanished stream or consumer stays away at the most. */
export const ASSERT_EVERY_MS = 2_000;
const CREATED_BY_OTHERS_MS = 100;
const CREATED_BY_OTHERS_LOOKS = 20;

/** What is to be there, and on how many servers of a cluster each stream is kept: 1, 3 or 5. */
export type Topology = { readonly consumers: readonly ConsumerDeclaration[]; readonly replicas: number };

const ALONE: Topology = { consumers, replicas: 1 };

const streamConfig = (stream: StreamDeclaration, replicas: number) => ({
  name: stream.name,
  subjects: [...stream.subjects],
  description: stream.description,
  retention: RetentionPolicy.Limits,
  // The truth is in PostgreSQL: a full stream forgets the oldest instead of stopping everything.
  discard: DiscardPolicy.Old,
  storage: StorageType.File,
  max_age: stream.maxAgeMs * NANOS_PER_MS,
  max_bytes: stream.maxBytes,
  duplicate_window: stream.duplicateWindowMs * NANOS_PER_MS,
  num_replicas: replicas,
  deny_delete: true,
  allow_direct: true,
});

/** An object store as its clients expect one: a piece of an object, or what is known of it, is a message. */
const bucketConfig = (bucket: BucketDeclaration, replicas: number) => ({
  name: bucket.stream,
  subjects: [`$O.${bucket.name}.C.>`, `$O.${bucket.name}.M.>`],
  description: bucket.description,
  retention: RetentionPolicy.Limits,
  // Whoever reads sees by the digest when a part is gone; nobody who writes should have to wait for somebody to tidy up.
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
  // A consumer made anew replays what the stream still holds: harmless, because deciding twice changes nothing.
  deliver_policy: DeliverPolicy.All,
  ack_wait: consumer.ackWaitMs * NANOS_PER_MS,
  max_deliver: -1,
  max_ack_pending: consumer.maxAckPending,
});

const isMissing = (error: unknown): boolean => error instanceof JetStreamApiError && error.status === 404;

/**
 * Creates what is missing. Another replica may be creating the same thing at this moment, and the server then refuses
 * with anything from "in use" to "no storage left": what counts is whether it is there afterwards.
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

/** Creates what is missing; returns the names of what it made. */
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

/** Brings streams and consumers of an earlier release to what this one declares. */
export const updateTopology = async (
  manager: JetStreamManager,
  { consumers: declared, replicas }: Topology = ALONE,
): Promise<void> => {
  for (const stream of streams) await manager.streams.update(stream.name, streamConfig(stream, replicas));
  for (const bucket of buckets) await manager.streams.update(bucket.stream, bucketConfig(bucket, replicas));
  for (const consumer of declared)
    await manager.consumers.update(consumer.stream, consumer.name, consumerConfig(consumer));
};

/** Keeps the topology there: at start, and every two seconds, because the bus may forget. */
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
