import { LogLine } from '@holdpoint/contracts/task/log';
import { streams } from '@holdpoint/contracts/bus/streams';
import { filters, type ServiceName, SERVICES, subjects } from '@holdpoint/contracts/bus/subjects';
import { type JetStreamManager, jetstreamManager, type StoredMsg } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';
import { askInboxOf } from './connection.ts';

/** The backlog of one durable consumer. */
export type ConsumerStatus = {
  readonly name: string;
  /** Not delivered; delivered and not acknowledged; of those, delivered more than once. */
  readonly pending: number;
  readonly ackPending: number;
  readonly redelivered: number;
};
export type StreamStatus = {
  readonly name: string;
  readonly description: string;
  readonly messages: number;
  readonly bytes: number;
  readonly consumers: readonly ConsumerStatus[];
};
/** One process of a service, and its response time. */
export type Instance = { readonly service: ServiceName; readonly id: string; readonly latencyMs: number };

export type LoggedLine = LogLine & { readonly node: string; readonly place: number };

/** The bus as a whole, read only. Every method but `instances` throws when the bus or the stream is away. */
export interface BusOverview {
  /** The processes that answer within this time. */
  instances(withinMs: number): Promise<readonly Instance[]>;
  streams(): Promise<readonly StreamStatus[]>;
  /**
   * The next line of a task's output from a stream position on. The messages in between belong to other tasks,
   * or are gone.
   */
  nextLine(
    task: string,
    from: number,
  ): Promise<{ readonly place: number; readonly line?: LoggedLine } | undefined>;
}

const LINES: (typeof streams)[number]['name'] = 'HP_LOG';
const Pong = z.object({ name: z.string(), id: z.string() });

/** Undefined when the message is not JSON. */
const jsonIn = (message: { json(): unknown }): unknown => {
  try {
    return message.json();
  } catch {
    return undefined;
  }
};

const streamLook = async (manager: JetStreamManager, name: string): Promise<StreamStatus> => {
  const { state, config } = await manager.streams.info(name);
  const consumers: ConsumerStatus[] = [];
  // Terminals that watch have short-lived consumers: only durable ones are shown.
  if (state.consumer_count > 0 && WITH_READERS.has(name))
    for await (const info of manager.consumers.list(name))
      if (info.config.durable_name !== undefined)
        consumers.push({
          name: info.name,
          pending: info.num_pending,
          ackPending: info.num_ack_pending,
          redelivered: info.num_redelivered,
        });
  const { messages, bytes } = state;
  return { name, description: config.description ?? '', messages, bytes, consumers };
};

/** The next line of output on a subject, from a stream position on. Undefined when there is none, or no stream. */
const nextMessage = async (
  manager: JetStreamManager,
  subject: string,
  from: number,
): Promise<StoredMsg | undefined> =>
  (await manager.direct.getMessage(LINES, { seq: from, next_by_subj: subject })) ?? undefined;

/** The streams that services read from. */
const WITH_READERS: ReadonlySet<string> = new Set<(typeof streams)[number]['name']>([
  'HP_CMD',
  'HP_IN',
  'HP_EVT',
]);

export const createBusOverview = (connection: NatsConnection, user: string): BusOverview => {
  const inbox = askInboxOf(user);
  const asked = jetstreamManager(connection, { checkAPI: false });

  return {
    instances: (withinMs) =>
      new Promise((resolve) => {
        const instances: Instance[] = [];
        const begun = performance.now();
        const reply = `${inbox}.${crypto.randomUUID()}`;
        const subscription = connection.subscribe(reply, {
          callback: (error, msg) => {
            if (error !== null) return;
            const pong = Pong.safeParse(jsonIn(msg));
            const service = SERVICES.find((each) => `holdpoint-${each}` === pong.data?.name);
            if (service !== undefined && pong.data !== undefined)
              instances.push({ service, id: pong.data.id, latencyMs: performance.now() - begun });
          },
        });
        // Replicas of this service, and the services in other accounts. The subscription receives the first response as
        // well. A request fails when no service responds.
        for (const subject of ['$SRV.PING', ...SERVICES.filter((each) => each !== user).map(subjects.ping)])
          connection
            .request(subject, undefined, { timeout: withinMs, noMux: true, reply })
            .catch(() => undefined);
        setTimeout(() => {
          subscription.unsubscribe();
          resolve(instances);
        }, withinMs);
      }),
    streams: async () => {
      const manager = await asked;
      return Promise.all(streams.map(({ name }) => streamLook(manager, name)));
    },
    nextLine: async (task, from) => {
      const stored = await nextMessage(await asked, filters.logsOf(task), from);
      if (stored === undefined) return undefined;
      const line = LogLine.safeParse(jsonIn(stored)).data;
      const node = stored.subject.split('.')[3] ?? '';
      return { place: stored.seq, ...(line && { line: { ...line, node, place: stored.seq } }) };
    },
  };
};
