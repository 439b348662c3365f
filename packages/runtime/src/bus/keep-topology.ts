import { isDeepStrictEqual } from 'node:util';
import {
  type ConsumerInfo,
  DeliverPolicy,
  type JetStreamManager,
  jetstreamManager,
  type StreamInfo,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { streams } from '@holdpoint/contracts/bus/streams';
import { errorFields } from '../engine/error-fields.ts';
import type { Logger } from '../observability/log.ts';
import type { StreamMark, Watermark } from '../store/bus-watermark.ts';
import { onReconnect } from './connection.ts';
import { withRemedy } from './examine-bus.ts';
import {
  type ConsumerLook,
  type Displacement,
  displacementOf,
  markedBy,
  type Start,
  startOf,
} from './consumer-positions.ts';
import {
  ALONE,
  assertTopology,
  createConsumer,
  ifThere,
  type Topology,
  type TopologyLook,
  updateTopology,
} from './topology.ts';

const WORK: (typeof streams)[number]['name'] = 'HP_WORK';

/** The interval of the looks: the time until a vanished consumer is recreated. After a reconnection a look follows at once. */
export const LOOK_EVERY_MS = 10_000;
/** Without a complete look for this long, the service that keeps the topology is not ready. */
const LOOK_OVERDUE_MS = 30_000;

export type TopologyKeeperOptions = {
  readonly connection: NatsConnection;
  readonly log: Logger;
  readonly topology?: Topology | undefined;
  /** Left out: only the existence of streams and consumers is kept. */
  readonly positions?: {
    /** Throws when the store is away. */
    readonly read: () => Promise<Watermark>;
    readonly write: (mark: Watermark) => Promise<void>;
    /** Called when the bus may have lost messages. Until it succeeds, each look repeats the repair. */
    readonly onLoss: () => Promise<unknown>;
    /** Called for each consumer that was recreated because its position was wrong. */
    readonly onDisplaced: (consumer: string, stream: string, reason: Displacement) => void;
  };
};

type Positions = NonNullable<TopologyKeeperOptions['positions']>;

export type TopologyKeeper = {
  /** Time since the last complete look. */
  readonly ageSeconds: () => number;
  /** For the readiness of the service. */
  readonly check: { readonly name: string; readonly ready: () => Promise<boolean> };
  readonly stop: () => void;
};

const markOf = ({ created, state }: StreamInfo): StreamMark => ({
  created,
  lastSeq: state.last_seq,
  lastAt: state.last_ts,
});
const lookOf = ({ delivered, ack_floor }: ConsumerInfo): ConsumerLook => ({
  delivered: delivered.stream_seq,
  floor: ack_floor.stream_seq,
});

/**
 * Recreates a consumer, from the start or from its oldest unacknowledged message, whichever is earlier. The server finds the
 * sequence of a time: a consumer that starts there shows it.
 */
const makeAnew = async (
  manager: JetStreamManager,
  { stream_name: stream, name, config, ack_floor }: ConsumerInfo,
  start: Start,
): Promise<void> => {
  const { opt_start_seq: _seq, opt_start_time: _time, deliver_policy: _policy, ...rest } = config;
  const create = async (from: object): Promise<ConsumerInfo> => {
    await ifThere(manager.consumers.delete(stream, name));
    return createConsumer(manager, stream, { ...rest, durable_name: name, ...from });
  };
  if (start === 'all') return void (await create({ deliver_policy: DeliverPolicy.All }));
  const { delivered } = await create({ deliver_policy: DeliverPolicy.StartTime, opt_start_time: start.at });
  const unread = ack_floor.stream_seq + 1;
  if (unread <= delivered.stream_seq)
    await create({ deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: unread });
};

/** The consumers of all program versions. */
const workConsumers = async (manager: JetStreamManager): Promise<readonly ConsumerInfo[]> => {
  const found: ConsumerInfo[] = [];
  for await (const info of manager.consumers.list(WORK)) found.push(info);
  return found;
};

/**
 * Creates the topology at the start, and looks at it every ten seconds and after each reconnection, because the bus may lose it. A bus that has lost the
 * tail of its streams, but not the positions of its consumers, would skip all messages up to these positions: such consumers
 * are recreated.
 */
export const keepTopology = async ({
  connection,
  log,
  topology = ALONE,
  positions,
}: TopologyKeeperOptions): Promise<TopologyKeeper> => {
  const manager = await jetstreamManager(connection, { checkAPI: false });
  let lastLook = performance.now();

  const assert = async (): Promise<TopologyLook> => {
    const seen = await assertTopology(manager, topology);
    if (seen.made.length > 0) log.info({ made: seen.made }, 'streams and consumers created');
    return seen;
  };

  const repair = async ({ read, write, onLoss, onDisplaced }: Positions): Promise<void> => {
    // Before the streams: another replica may write a later mark meanwhile.
    const known = await read();
    const work = (await ifThere(workConsumers(manager))) ?? [];
    const server = connection.info?.server_id ?? '';
    const seen = await assert();
    let lost = seen.made.some((name) => name in known.streams);
    const marks: Record<string, StreamMark> = {};
    for (const [name, info] of seen.streams) {
      const there = [...seen.consumers, ...work].filter(({ stream_name }) => stream_name === name);
      const mark = markOf(info);
      marks[name] = mark;
      const reason = displacementOf(known, server, name, mark, there.map(lookOf));
      if (reason === undefined) continue;
      lost ||= known.servers.length > 0;
      for (const consumer of there) {
        await makeAnew(manager, consumer, startOf(reason, known.streams[name]));
        onDisplaced(consumer.name, name, reason);
        log.warn({ stream: name, consumer: consumer.name, reason }, 'consumer recreated');
      }
    }
    if (lost) await onLoss();
    const next = markedBy(known, server, marks);
    if (!isDeepStrictEqual(next, known)) await write(next);
  };

  const look = async (): Promise<void> => {
    await (positions === undefined ? assert() : repair(positions));
    lastLook = performance.now();
  };
  const lookSafely = (): Promise<void> =>
    look().catch((error: unknown) =>
      log.warn(errorFields(error), 'streams and consumers could not be checked'),
    );

  // The first look creates the consumers: a later one would find positions that it cannot know.
  try {
    await look();
    await updateTopology(manager, topology);
  } catch (error) {
    throw withRemedy(error);
  }
  let busy = false;
  const lookNow = (): void => {
    if (busy) return;
    busy = true;
    void lookSafely().finally(() => (busy = false));
  };
  const timer = setInterval(lookNow, LOOK_EVERY_MS);
  // A server that has lost something has ended before.
  const following = onReconnect(connection, lookNow);
  const ageMs = (): number => performance.now() - lastLook;
  return {
    ageSeconds: () => ageMs() / 1_000,
    check: { name: 'topology', ready: () => Promise.resolve(ageMs() < LOOK_OVERDUE_MS) },
    stop: () => {
      following.stop();
      clearInterval(timer);
    },
  };
};
