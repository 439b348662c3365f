import { LogLine } from '@holdpoint/contracts/task/log';
import { streams } from '@holdpoint/contracts/bus/streams';
import { filters, type ServiceName, SERVICES, subjects } from '@holdpoint/contracts/bus/subjects';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';
import { askInboxOf } from './connection.ts';
import { createDeadLetters, type StoredDeadLetter, nextMessage } from './dead-letters.ts';

export type { StoredDeadLetter } from './dead-letters.ts';

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
  /** A dead letter, resolved or not; undefined when there is none of this number. */
  letter(sequence: number): Promise<StoredDeadLetter | undefined>;
  /** Unresolved dead letters before a number, the latest first. */
  letters(
    limit: number,
    before?: number,
  ): Promise<{ readonly items: readonly StoredDeadLetter[]; readonly next?: number }>;
  /** The number of unresolved dead letters of each service. */
  letterCounts(): Promise<Readonly<Record<ServiceName, number>>>;
  /**
   * The next line of a task's output from a stream position on. The messages in between belong to other tasks,
   * or are gone.
   */
  nextLine(
    task: string,
    from: number,
  ): Promise<{ readonly place: number; readonly line?: LoggedLine } | undefined>;
}

const LETTERS: (typeof streams)[number]['name'] = 'HP_DLQ';
const LINES: (typeof streams)[number]['name'] = 'HP_LOG';
/** Maximum messages that one call examines. */
const LOOKED_AT_MAX = 2_000;

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

/** The streams that services read from. */
const WITH_READERS: ReadonlySet<string> = new Set<(typeof streams)[number]['name']>(['HP_CMD', 'HP_EVT']);

export const createBusOverview = (connection: NatsConnection, user: string): BusOverview => {
  const inbox = askInboxOf(user);
  const asked = jetstreamManager(connection, { checkAPI: false });
  const found = createDeadLetters(connection);

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
        // The subscription receives the first response as well. The request fails when no service responds.
        connection
          .request('$SRV.PING', undefined, { timeout: withinMs, noMux: true, reply })
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
    letter: (sequence) => found.find(sequence),
    letters: async (limit, before) => {
      const { state } = await (await asked).streams.info(LETTERS);
      const settled = await found.settled(0);
      const items: StoredDeadLetter[] = [];
      let sequence = Math.min(state.last_seq, (before ?? Infinity) - 1);
      const last = Math.max(state.first_seq, 1, sequence - LOOKED_AT_MAX);
      for (; sequence >= last && items.length < limit; sequence -= 1) {
        const letter = settled.has(sequence) ? undefined : await found.find(sequence);
        if (letter !== undefined) items.push(letter);
      }
      return { items, ...(sequence >= Math.max(state.first_seq, 1) && { next: sequence + 1 }) };
    },
    letterCounts: async () => {
      const manager = await asked;
      const { state } = await manager.streams.info(LETTERS, { subjects_filter: filters.deadLetters });
      const settled = await found.settled(0);
      const counted = SERVICES.map((service) => {
        const all = state.subjects?.[subjects.deadLetter(service)] ?? 0;
        return [service, all] as const;
      });
      const counts = new Map(counted);
      // Messages that expired are removed at the start of the stream and do not count.
      const there = [...settled.values()].filter(({ sequence }) => sequence >= state.first_seq);
      for (const { service } of there) counts.set(service, Math.max(0, (counts.get(service) ?? 0) - 1));
      return Object.fromEntries(counts) as Record<ServiceName, number>;
    },
    nextLine: async (task, from) => {
      const stored = await nextMessage(await asked, LINES, filters.logsOf(task), from);
      if (stored === undefined) return undefined;
      const line = LogLine.safeParse(jsonIn(stored)).data;
      const node = stored.subject.split('.')[3] ?? '';
      return { place: stored.seq, ...(line && { line: { ...line, node, place: stored.seq } }) };
    },
  };
};
