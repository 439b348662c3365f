import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import type { ServiceLogic } from '@holdpoint/runtime/engine/core';
import type { Routed } from '@holdpoint/runtime/engine/inbound';
import { deadLetterKey } from '@holdpoint/runtime/engine/dead-letter';
import { type Delivery, unsealedIdentity } from '@holdpoint/runtime/engine/intake';
import type { Addressed } from '@holdpoint/runtime/engine/kinds';
import { decideAgain } from '../event-states.ts';
import type { World } from '../world.ts';

/** The message without the slot that the process added to it. */
const asSent = <Message>(message: Message): Message =>
  typeof message === 'object' && message !== null && 'slot' in message
    ? { ...message, slot: undefined }
    : message;

/** A message and the version of its aggregate when it arrived. */
type Taken<To extends Addressed> = { readonly routed: Routed<To>; readonly version: number };

/**
 * A message is acknowledged only after its commit. At each acknowledgement the message is decided once more
 * on the stored state and must lead to no new event.
 */
export const watchAcknowledgements = <To extends Addressed, Event extends { readonly type: string }, Work>(
  { checker, books, databases, timeline, poison, kept, seals }: World,
  logic: ServiceLogic<To, Event, Work>,
) => {
  const { service } = logic;
  const book = books[service];
  let decoded: Taken<To> | undefined;

  const check = (taken: Taken<To> | undefined, delivery: Delivery): void => {
    const letter = deadLetterKey(service, delivery.identity);
    if (kept.has(letter) || kept.has(deadLetterKey(service, unsealedIdentity(delivery)))) return;
    if (taken === undefined) {
      if (seals.isRetired(delivery.header(HEADERS.seal))) return;
      const ill = poison.get(letter);
      // An unwanted message leads to nothing, an unreadable one to a dead letter.
      checker.expect(
        'a message is acknowledged only after its commit',
        ill?.kind !== 'message cannot be read' || ill.until < timeline.now(),
        '',
        () => `${service} acknowledged what it could not read, and kept nothing of it`,
      );
      return;
    }
    const { aggregate, message } = taken.routed;
    // If another commit came in between, or the aggregate was purged, nothing can be concluded.
    const isGone = book.versionOf(aggregate) > 0 && !databases[service].tables.events.has(aggregate);
    const again =
      !isGone && book.versionOf(aggregate) === taken.version
        ? decideAgain(
            book,
            logic.kinds,
            { ...taken.routed, message: asSent(message) },
            databases[service].now(),
          )
        : [];
    checker.expect(
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
    /** Wraps an intake, which decodes each message first. */
    take:
      (take: (delivery: Delivery) => void) =>
      (delivery: Delivery): void => {
        decoded = undefined;
        // The acknowledgement may come before `take` returns, or long after other messages were decoded.
        const mine: { taken?: Taken<To> | undefined } = {};
        take({
          ...delivery,
          ack: () => {
            check('taken' in mine ? mine.taken : decoded, delivery);
            delivery.ack();
          },
        });
        mine.taken = decoded;
      },
  };
};
