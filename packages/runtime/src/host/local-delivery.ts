import { headerIn, HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { isInternal } from '@holdpoint/contracts/catalog/event-list';
import { eventMessage } from '../engine/batch.ts';
import type { Routed } from '../engine/inbound.ts';
import { type Addressed, kindNamed } from '../engine/kinds.ts';
import type { Member } from './member.ts';
import type { StoredEvent, WireMessage } from '../engine/ports.ts';
import type { Exchange } from './session.ts';

/** A message between two services of a host. */
export type LocalItem = {
  readonly to: Member;
  readonly from: Member;
  readonly item: Routed<Addressed>;
  readonly identity: string;
  /** A command. An event is published in any case. */
  readonly command?: WireMessage;
};

/**
 * The message as its receiver takes it from the bus. Undefined when it has to come over the bus: the receiver cannot decide it
 * yet, refuses it, or prepares it in slices.
 */
const decoded = (
  to: Member,
  message: WireMessage,
  tokens: readonly string[],
  at: number,
): { readonly item: Routed<Addressed>; readonly identity: string } | undefined => {
  const { subject, headers, body } = message;
  const identity = headerIn(headers, HEADERS.id);
  const reader = to.readerOf(subject, tokens);
  if (reader === undefined || identity === undefined) return undefined;
  try {
    const arrived = { at, header: (name: string) => headerIn(headers, name) };
    const item = reader.decode(subject, JSON.parse(body), { identity, arrived });
    if (item === undefined) return undefined;
    if (item.defer !== true && item.prepare === undefined)
      return { item: { ...item, trace: headerIn(headers, HEADERS.trace) }, identity };
    item.onDone?.();
    return undefined;
  } catch {
    // The receiver says over the bus what is wrong with it, and keeps it as a dead letter.
    return undefined;
  }
};

/** Collects the messages that a decision of `from` sends to services of its host. */
export const exchangeFor = (
  from: Member,
  members: readonly Member[],
  at: () => number,
  take: (local: LocalItem) => void,
  /** Whether the transaction takes no more messages. */
  isFull: () => boolean,
  /** Whether no other transaction of the process decides on the aggregate. */
  isFree: (to: Member, aggregate: string) => boolean,
): Exchange => {
  const offer = (message: WireMessage, command?: WireMessage): boolean => {
    let taken = false;
    const tokens = message.subject.split('.');
    for (const to of isFull() ? [] : members) {
      const local = to.isOwner() ? decoded(to, message, tokens, at()) : undefined;
      if (local === undefined) continue;
      if (!isFree(to, local.item.aggregate)) {
        local.item.onDone?.();
        continue;
      }
      take({ ...local, to, from, ...(command && { command }) });
      taken = true;
    }
    return taken;
  };
  const showOne = (event: StoredEvent): void => {
    if (isInternal(from.service, event.type)) return;
    offer(eventMessage(from.service, kindNamed(from.kinds, event.kind).publishedAs, event));
  };
  return {
    deliver: (message) => offer(message, message),
    show: (events) => events.forEach(showOne),
  };
};
