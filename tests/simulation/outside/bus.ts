import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { type ConsumerDeclaration, streams } from '@holdpoint/contracts/bus/streams';
import type { Delivery } from '@holdpoint/runtime/engine/intake';
import { matcher } from '@holdpoint/runtime/memory/bus';
import type { Publisher, WireMessage } from '@holdpoint/runtime/engine/ports';
import { displacementOf } from '@holdpoint/runtime/bus/consumer-positions';
import type { Choices } from '../choices.ts';
import type { Life } from '../process-life.ts';
import type { Timeline } from '../timeline.ts';
import type { Weather } from '../faults/fault-rates.ts';

type Reader = {
  readonly life: Life;
  readonly take: (delivery: Delivery) => void;
  /** Whether it reads at this moment. Left out: always. */
  readonly reads?: () => boolean;
  /** Called when a message waits and no process reads. */
  readonly isNeeded?: () => void;
};
type Stored = {
  readonly name: string;
  readonly sequence: number;
  readonly at: number;
  readonly wire: WireMessage;
  readonly data: Uint8Array;
};
type Pending = { readonly message: Stored; deliveries: number; done: boolean; callOff: () => void };
type Consumer = {
  readonly declaration: ConsumerDeclaration;
  readonly reads: (subject: string) => boolean;
  readonly readers: Reader[];
  readonly pending: Set<Pending>;
};

/**
 * JetStream with every fault that it may have: it loses, doubles, delays and reorders messages, and forgets
 * confirmed ones.
 */
export type Bus = {
  readonly publisher: (life: Life, crash: () => void) => Publisher;
  /** Publishes for an external client. `confirmed` says whether the bus confirmed it. */
  readonly publish: (name: string, wire: WireMessage, confirmed?: (stored: boolean) => void) => void;
  readonly read: (declaration: ConsumerDeclaration, reader: Reader) => void;
  /** Delivers at once what processes have taken and not acknowledged. */
  readonly takeBack: (consumer: string) => void;
  /** Deletes all messages and the memory of message ids. */
  readonly wipe: () => void;
  /**
   * Drops the latest messages, and the memory of their ids. Consumers keep their positions: until the look after `lookAfterMs`
   * makes them anew, they skip as many new messages as were lost.
   */
  readonly loseTail: (messages: number, lookAfterMs: number) => void;
  readonly goAway: (ms: number) => void;
  readonly waiting: () => number;
  readonly reads: (consumer: string, subject: string) => boolean;
  /** Whether a message with this id was ever stored. */
  readonly hasStored: (messageId: string) => boolean;
};

const PUBLISH_FAULTS = [
  'publish is lost',
  'publish arrives late',
  'message is doubled',
  'confirmation is lost',
] as const;

type PublishFault = (typeof PUBLISH_FAULTS)[number];

/** Messages that are resent late or never. */
const OF_RECOVERY = /^hp\.cmd\.(recovery\.|task\.(recover|admit)$)/;

const encoder = new TextEncoder();
const CONFIRM_TIMEOUT_MS = 3_000;
/** Two readers that stop would otherwise exchange a message without end, at one instant. */
const REDELIVERS_MS = 1;
const NOBODY_READS_RETRY_MS = 500;
const COMES_AGAIN_MS = 40_000;
const DUPLICATE_WINDOW_MS = streams[0].duplicateWindowMs;

const header = (wire: WireMessage, name: string): string | undefined =>
  wire.headers.find(([key]) => key === name)?.[1] || undefined;

export const createBus = (
  timeline: Timeline,
  weather: Weather,
  choices: Choices,
  published: (wire: WireMessage) => void,
): Bus => {
  const consumers = new Map<string, Consumer>();
  const seen = new Map<string, number>();
  const everStored = new Set<string>();
  let sequence = 0;
  /** The position of consumers that are ahead of the stream. */
  let floor = 0;
  const skipped: Stored[] = [];
  let awayUntil = 0;
  const isAway = (): boolean => timeline.now() < awayUntil;

  const plan = (consumer: Consumer, pending: Pending, ms: number): void => {
    pending.callOff();
    pending.callOff = timeline.in(ms, () => deliver(consumer, pending));
  };

  const deliver = (consumer: Consumer, pending: Pending): void => {
    const { name, at, data, wire } = pending.message;
    const alive = consumer.readers.filter(({ life }) => life.isAlive());
    const readers = alive.filter(({ reads }) => reads?.() ?? true);
    if (pending.done || !consumer.pending.has(pending)) return;
    if (!isAway() && readers.length === 0 && alive.length > 0)
      choices.pick(`needed for ${name} ${String(timeline.now())}`, alive).isNeeded?.();
    if (isAway() || readers.length === 0) return plan(consumer, pending, NOBODY_READS_RETRY_MS);
    const { life, take } = choices.pick(`reader of ${name}`, readers);
    pending.deliveries += 1;
    const count = pending.deliveries;
    plan(consumer, pending, consumer.declaration.ackWaitMs);
    const place = `${consumer.declaration.name} ${name}`;
    const settle = (what: () => void): void =>
      weather.send(`${place} ack`, () => {
        if (isAway() || weather.strikes('acknowledgement is lost', place)) return;
        if (!pending.done) what();
      });
    const delivery: Delivery = {
      subject: wire.subject,
      data,
      deliveries: count,
      identity:
        header(wire, HEADERS.id) ??
        header(wire, HEADERS.messageId) ??
        `${String(pending.message.sequence)}/${String(at)}`,
      at,
      header: (key) => header(wire, key),
      headers: () => Object.fromEntries(wire.headers),
      ack: () =>
        settle(() => {
          // A crashed server redelivers acknowledgements that it had not written.
          if (weather.strikes('acknowledged message comes again', place))
            return plan(consumer, pending, choices.between(place, 0, COMES_AGAIN_MS));
          pending.done = true;
          pending.callOff();
          consumer.pending.delete(pending);
        }),
      giveBack: (delayMs) => settle(() => plan(consumer, pending, Math.max(delayMs, REDELIVERS_MS))),
    };
    life.enter(() => take(delivery));
  };

  const enqueue = (message: Stored): void => {
    for (const consumer of consumers.values()) {
      if (!consumer.reads(message.wire.subject)) continue;
      const pending: Pending = { message, deliveries: 0, done: false, callOff: () => undefined };
      consumer.pending.add(pending);
      plan(consumer, pending, weather.latency(`${consumer.declaration.name} ${message.name}`));
    }
  };

  const store = (name: string, wire: WireMessage, doubled: boolean): void => {
    const id = header(wire, HEADERS.messageId);
    if (id !== undefined) everStored.add(id);
    const last = id === undefined ? undefined : seen.get(id);
    if (last !== undefined && timeline.now() - last < DUPLICATE_WINDOW_MS) return;
    if (id !== undefined) seen.set(id, timeline.now());
    sequence += 1;
    const at = Math.floor(timeline.now());
    const message = { name, sequence, at, wire, data: encoder.encode(wire.body) };
    if (sequence <= floor) {
      skipped.push(message);
      return;
    }
    enqueue(message);
    if (doubled) enqueue(message);
  };

  const nameOf = (wire: WireMessage): string => header(wire, HEADERS.messageId) ?? wire.subject;

  /** Stores one message, or not. Returns whether its sender may get the confirmation. */
  const receive = (name: string, wire: WireMessage, fault: PublishFault | undefined): boolean => {
    if (isAway() || fault === 'publish is lost') return false;
    if (fault === 'publish arrives late') {
      timeline.in(choices.between(`late ${name}`, 0, COMES_AGAIN_MS), () => store(name, wire, false));
      return false;
    }
    // The server confirms, and dies before the message is on disk.
    if (OF_RECOVERY.test(wire.subject) && weather.strikes('message of recovery is forgotten', name)) {
      everStored.add(nameOf(wire));
      return true;
    }
    if (
      OF_RECOVERY.test(wire.subject) &&
      weather.strikes('message of recovery is overtaken', `late ${name}`)
    ) {
      everStored.add(nameOf(wire));
      timeline.in(choices.between(`overtaken ${name}`, 0, COMES_AGAIN_MS), () => store(name, wire, false));
      return true;
    }
    store(name, wire, fault === 'message is doubled');
    return fault !== 'confirmation is lost';
  };

  return {
    publisher: (life, crash) => ({
      publish: (messages) =>
        new Promise((resolve) => {
          const first = messages[0];
          const place = `${life.name} publish ${first === undefined ? '' : nameOf(first)}`;
          weather.send(place, () => {
            // A dead process loses its send buffer.
            if (!life.isAlive()) return;
            const fault = weather.oneOf(place, ['crash before the publish', 'crash after the publish']);
            if (fault === 'crash before the publish') return crash();
            let all = true;
            // At most one message of a batch is struck.
            const struck = messages[Math.floor(choices.number(`${place} which`) * messages.length)];
            for (const wire of messages) {
              published(wire);
              const name = nameOf(wire);
              const strike = wire === struck ? weather.oneOf(name, PUBLISH_FAULTS) : undefined;
              all = receive(name, wire, strike) && all;
            }
            if (fault === 'crash after the publish') return crash();
            const answerAfter = all ? weather.latency(`${place} <`) : CONFIRM_TIMEOUT_MS;
            timeline.in(answerAfter, () => life.enter(() => resolve(all)));
          });
        }),
    }),
    publish: (name, wire, confirmed = () => undefined) =>
      void timeline.in(weather.latency(name), () =>
        confirmed(receive(name, wire, weather.oneOf(name, PUBLISH_FAULTS))),
      ),
    read: (declaration, reader) => {
      const consumer = consumers.get(declaration.name) ?? {
        declaration,
        reads: matcher(declaration.filter),
        readers: [],
        pending: new Set(),
      };
      consumers.set(declaration.name, consumer);
      consumer.readers.push(reader);
      reader.life.atEnd(() => consumer.readers.splice(consumer.readers.indexOf(reader), 1));
    },
    takeBack: (name) => {
      const consumer = consumers.get(name);
      if (consumer === undefined || isAway()) return;
      for (const pending of consumer.pending)
        if (pending.deliveries > 0)
          plan(consumer, pending, weather.latency(`${name} takes back ${pending.message.name}`));
    },
    reads: (consumer, subject) => consumers.get(consumer)?.reads(subject) === true,
    wipe: () => {
      seen.clear();
      skipped.splice(0);
      floor = 0;
      for (const { pending } of consumers.values()) {
        for (const each of pending) each.callOff();
        pending.clear();
      }
    },
    loseTail: (messages, lookAfterMs) => {
      const last = sequence;
      sequence = Math.max(0, last - messages);
      seen.clear();
      for (const { pending } of consumers.values())
        for (const each of pending)
          if (each.message.sequence > sequence) {
            each.callOff();
            pending.delete(each);
          }
      floor = Math.max(floor, last);
      timeline.in(lookAfterMs, () => {
        // The real rule decides; without it every message up to the old positions stays unread.
        const stream = { created: '', lastSeq: sequence, lastAt: '' };
        const mark = { servers: ['before'], streams: { bus: { ...stream, lastSeq: last } } };
        if (displacementOf(mark, 'after', 'bus', stream, [{ delivered: floor, floor }]) === undefined) return;
        floor = 0;
        for (const message of skipped.splice(0)) enqueue(message);
      });
    },
    goAway: (ms) => {
      awayUntil = Math.max(awayUntil, timeline.now() + ms);
    },
    hasStored: (messageId) => everStored.has(messageId),
    waiting: () => [...consumers.values()].reduce((sum, { pending }) => sum + pending.size, 0),
  };
};
