import type { ServiceLogic } from '@holdpoint/runtime/engine/core';
import { letterIdOf } from '@holdpoint/runtime/engine/dead-letter';
import type { World } from '../world.ts';

/** The error of a service that cannot handle a message. */
export const POISONED = 'it is poison on purpose';

const ILLS = ['message cannot be read', 'message cannot be handled'] as const;
type Ill = { readonly kind: (typeof ILLS)[number]; readonly until: number };

/**
 * The messages that a service cannot handle, by the ids of their dead letters, with the time of their repair.
 */
export type Poison = Map<string, Ill | undefined>;

/** Five deliveries take fifteen seconds: some messages are repaired earlier and need no dead letter. */
const MENDED_WITHIN_MS = [5_000, 60_000] as const;

/** A faulty release: every replica fails to decode or to handle some messages until the repair. */
export const withPoison = <State, Message, Event extends { readonly type: string }, Work>(
  { weather, timeline, choices, poison }: World,
  logic: ServiceLogic<State, Message, Event, Work>,
): ServiceLogic<State, Message, Event, Work> => {
  const { service, decider } = logic.kind;
  const marked = new WeakMap<object, number>();

  const illOf = (id: string): Ill | undefined => {
    if (!poison.has(id)) {
      const kind = weather.oneOf(`poison ${id}`, ILLS);
      const until = timeline.now() + choices.between(`mended ${id}`, ...MENDED_WITHIN_MS);
      poison.set(id, kind && { kind, until });
    }
    const ill = poison.get(id);
    return ill !== undefined && timeline.now() < ill.until ? ill : undefined;
  };

  return {
    ...logic,
    kind: {
      ...logic.kind,
      decider: {
        ...decider,
        decide: (state, message, at) => {
          const until = typeof message === 'object' && message !== null ? (marked.get(message) ?? 0) : 0;
          if (timeline.now() < until) throw new Error(POISONED);
          return decider.decide(state, message, at);
        },
      },
    },
    inbound: logic.inbound.map((inbound) => ({
      ...inbound,
      decode: (subject, payload, meta) => {
        const ill = illOf(letterIdOf(service, meta.identity));
        if (ill?.kind === 'message cannot be read') throw new Error(POISONED);
        const routed = inbound.decode(subject, payload, meta);
        if (ill !== undefined && typeof routed?.message === 'object' && routed.message !== null)
          marked.set(routed.message, ill.until);
        return routed;
      },
    })),
  };
};
