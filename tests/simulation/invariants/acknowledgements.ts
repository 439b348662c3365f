import type { ServiceLogic } from '@holdpoint/runtime/engine/core';
import type { Routed } from '@holdpoint/runtime/engine/inbound';
import { letterIdOf } from '@holdpoint/runtime/engine/dead-letter';
import type { Delivery } from '@holdpoint/runtime/engine/intake';
import type { Book } from '../event-states.ts';
import type { World } from '../world.ts';

/** The same message, without what the process that took it lent to it. */
const asSent = <Message>(message: Message): Message =>
  typeof message === 'object' && message !== null && 'slot' in message
    ? { ...message, slot: undefined }
    : message;

/** A message, and what was known of its aggregate when it came. */
type Taken<Message> = { readonly routed: Routed<Message>; readonly version: number };

/**
 * Nothing is acknowledged before it is committed: when a message is acknowledged, deciding it once more on what is stored
 * must lead to nothing new.
 */
export const watchAcknowledgements = <State, Message, Event extends { readonly type: string }, Work>(
  { judge, books, databases, timeline, poison, kept }: World,
  logic: ServiceLogic<State, Message, Event, Work>,
) => {
  const { service, decider } = logic.kind;
  const book = books[service] as unknown as Book<State, Event>;
  let decoded: Taken<Message> | undefined;

  const check = (taken: Taken<Message> | undefined, identity: string): void => {
    const letter = letterIdOf(service, identity);
    if (kept.has(letter)) return;
    if (taken === undefined) {
      const ill = poison.get(letter);
      // What nobody wants leads to nothing; what nobody can read, to a letter.
      judge.expect(
        'a message is acknowledged only after its commit',
        ill?.kind !== 'message cannot be read' || ill.until < timeline.now(),
        '',
        () => `${service} acknowledged what it could not read, and kept nothing of it`,
      );
      return;
    }
    const { aggregate, message } = taken.routed;
    // Once something has been committed since, it may be this message or another; then nothing can be said.
    // Nor of what has ended and gone meanwhile: the books remember it, and nobody else does.
    const isGone = book.versionOf(aggregate) > 0 && !databases[service].tables.events.has(aggregate);
    const again =
      !isGone && book.versionOf(aggregate) === taken.version
        ? decider.decide(book.stateOf(aggregate), asSent(message), { now: databases[service].now() }).events
        : [];
    judge.expect(
      'a message is acknowledged only after its commit',
      again.length === 0,
      aggregate,
      () => `${service} acknowledged ${JSON.stringify(message).slice(0, 300)}, which has led to nothing`,
    );
  };

  return {
    logic: {
      ...logic,
      inbound: logic.inbound.map((inbound) => ({
        ...inbound,
        decode: (...all: Parameters<typeof inbound.decode>) => {
          const routed = inbound.decode(...all);
          decoded = routed && { routed, version: book.versionOf(routed.aggregate) };
          return routed;
        },
      })),
    },
    /** Round an intake, which decodes a message before it does anything else with it. */
    take:
      (take: (delivery: Delivery) => void) =>
      (delivery: Delivery): void => {
        decoded = undefined;
        // Its fate may be known before `take` returns, or long after other messages have been decoded.
        const mine: { taken?: Taken<Message> | undefined } = {};
        take({
          ...delivery,
          ack: () => {
            check('taken' in mine ? mine.taken : decoded, delivery.identity);
            delivery.ack();
          },
        });
        mine.taken = decoded;
      },
  };
};
