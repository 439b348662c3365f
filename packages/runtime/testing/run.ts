import type { Decider, Decision } from '../src/decider.ts';

/** A message and the time at which it is decided. */
export type Act<Message> = { readonly message: Message; readonly now: number };

/** One decision of a run, with the states around it. */
export type Step<State, Message, Event, Work> = Act<Message> & {
  readonly before: State;
  readonly made: Decision<Event, Work>;
  readonly after: State;
};

/** Decides a sequence of messages as the runtime would: each on the state that the ones before it left. */
export const runOf = <State, Message, Event, Work>(
  decider: Decider<State, Message, Event, Work>,
  acts: readonly Act<Message>[],
): readonly Step<State, Message, Event, Work>[] => {
  let state = decider.initial;
  return acts.map(({ message, now }) => {
    const before = state;
    const made = decider.decide(before, message, { now });
    state = made.events.reduce((reached, event) => decider.evolve(reached, event), before);
    return { message, now, before, made, after: state };
  });
};

export const eventsOf = <Event>(
  run: readonly { readonly made: { readonly events: readonly Event[] } }[],
): readonly Event[] => run.flatMap(({ made }) => made.events);
