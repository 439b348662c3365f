import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { ServiceLogic } from '@holdpoint/runtime/engine/core';
import type { Addressed } from '@holdpoint/runtime/engine/kinds';
import { type Kind, mapKinds } from '../services/kinds.ts';
import { deadLetterKey } from '@holdpoint/runtime/engine/dead-letter';
import type { World } from '../world.ts';

/** The error of a service that cannot handle a message. */
export const POISONED = 'it is poison on purpose';

const ILLS = ['message cannot be read', 'message cannot be handled'] as const;
/** Its parent may be over before the repair: the cancellation then arrives first. */
const CHILD = 'submission by a task cannot be handled';
const SUBMISSION = subjects.taskCommand('submit');
type Ill = { readonly kind: (typeof ILLS)[number] | typeof CHILD; readonly until: number };

/**
 * The messages that a service cannot handle, by the ids of their dead letters, with the time of their repair.
 */
export type Poison = Map<string, Ill | undefined>;

/** Five deliveries take fifteen seconds: some messages are repaired earlier and need no dead letter. */
const MENDED_WITHIN_MS = [5_000, 60_000] as const;

/** A faulty release: every replica fails to decode or to handle some messages until the repair. */
export const withPoison = <To extends Addressed, Event extends { readonly type: string }, Work>(
  { weather, timeline, choices, poison }: World,
  logic: ServiceLogic<To, Event, Work>,
): ServiceLogic<To, Event, Work> => {
  const { service } = logic;
  const marked = new WeakMap<object, number>();

  const illOf = (subject: string, id: string): Ill | undefined => {
    if (!poison.has(id)) {
      const isChild = subject === SUBMISSION && weather.strikes(CHILD, `poison ${id}`);
      const kind = isChild ? CHILD : weather.oneOf(`poison ${id}`, ILLS);
      const until = timeline.now() + choices.between(`mended ${id}`, ...MENDED_WITHIN_MS);
      poison.set(id, kind && { kind, until });
    }
    const ill = poison.get(id);
    return ill !== undefined && timeline.now() < ill.until ? ill : undefined;
  };

  const failing = (kind: Kind): Kind => ({
    ...kind,
    decider: {
      ...kind.decider,
      decide: (state, message, at) => {
        const until = typeof message === 'object' && message !== null ? (marked.get(message) ?? 0) : 0;
        if (timeline.now() < until) throw new Error(POISONED);
        return kind.decider.decide(state, message, at);
      },
    },
  });

  const mark = <Message>(message: Message, ill: Ill | undefined): Message => {
    if (ill !== undefined && typeof message === 'object' && message !== null) marked.set(message, ill.until);
    return message;
  };

  return {
    ...logic,
    kinds: mapKinds(logic.kinds, failing),
    inbound: logic.inbound.map((inbound) => ({
      ...inbound,
      decode: (subject, payload, meta) => {
        const ill = illOf(subject, deadLetterKey(service, meta.identity));
        if (ill?.kind === 'message cannot be read') throw new Error(POISONED);
        const routed = inbound.decode(subject, payload, meta);
        if (routed === undefined || ill === undefined) return routed;
        mark(routed.message, ill);
        const { refresh } = routed;
        return refresh === undefined ? routed : { ...routed, refresh: () => mark(refresh(), ill) };
      },
    })),
  };
};
