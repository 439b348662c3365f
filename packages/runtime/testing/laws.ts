import { expect } from 'vitest';
import type { Decider } from '../src/decider.ts';
import { type Act, eventsOf, runOf, type Step } from './run.ts';

/** `decide(after(m), m)` yields no event: the bus may deliver anything again. */
export const holdsIdempotence = <State, Message, Event, Work>(
  decider: Decider<State, Message, Event, Work>,
  { message, now, after }: Step<State, Message, Event, Work>,
): void => {
  expect(decider.decide(after, message, { now }).events).toEqual([]);
};

/** The same state, message and moment give the same decision, regardless of decisions in between. */
export const holdsDeterminism = <State, Message, Event, Work>(
  decider: Decider<State, Message, Event, Work>,
  { message, now, before, made }: Step<State, Message, Event, Work>,
): void => {
  expect(decider.decide(before, message, { now })).toEqual(made);
};

/** A refusal sends nothing and starts no work. */
export const holdsRefusal = <State, Message, Event, Work>({
  made,
}: Step<State, Message, Event, Work>): void => {
  if (made.answer === undefined || !('error' in made.answer)) return;
  expect({ send: made.send, work: made.work }).toEqual({ send: [], work: [] });
};

/** A decider that hands over its state has folded its own events, so that nobody folds them again. */
export const holdsFold = <State, Message, Event, Work>({
  made,
  after,
}: Step<State, Message, Event, Work>): void => {
  if (made.after !== undefined) expect(made.after).toEqual(after);
};

/**
 * Replaying the events gives the state that acting gave; and at every cut point a snapshot, gone through JSON as a store
 * keeps it, with the events after it gives it too.
 */
export const holdsReplay = <State, Message, Event, Work>(
  decider: Decider<State, Message, Event, Work>,
  run: readonly Step<State, Message, Event, Work>[],
): void => {
  const events = eventsOf(run);
  const fold = (from: State, rest: readonly Event[]): State =>
    rest.reduce((state, event) => decider.evolve(state, stored(event)), from);
  const reached = stored(run.at(-1)?.after ?? decider.initial);
  for (let cut = 0; cut <= events.length; cut += 1) {
    const snapshot = stored(fold(decider.initial, events.slice(0, cut)));
    expect(stored(fold(snapshot, events.slice(cut)))).toEqual(reached);
  }
};

/** A value after its way through the store. An aggregate without events has no snapshot. */
const stored = <Value>(value: Value): Value =>
  value === undefined ? value : (JSON.parse(JSON.stringify(value)) as Value);

/** An event of another release must never be taken for a known one, or for none. */
export const holdsUnknownEvents = <State, Message, Event, Work>(
  decider: Decider<State, Message, Event, Work>,
  run: readonly Step<State, Message, Event, Work>[],
): void => {
  const unknown = { ...eventsOf(run).at(-1), type: 'of_another_release' } as Event;
  for (const state of [decider.initial, ...run.map(({ after }) => after)])
    expect(() => decider.evolve(state, unknown)).toThrow(/of_another_release|was never/);
};

/** Two messages with the same id must be equal: only one of them may arrive. */
export const holdsMessageIds = <State, Message, Event, Work>(
  run: readonly Step<State, Message, Event, Work>[],
): void => {
  const said = new Map<string, unknown>();
  for (const { id, subject, data } of run.flatMap(({ made }) => made.send)) {
    const message = { subject, data };
    expect(said.get(id) ?? message, `two messages under the id ${id}`).toEqual(message);
    said.set(id, message);
  }
};

/** Checks every law of a decider over one run. */
export const holdsEveryLaw = <State, Message, Event, Work>(
  decider: Decider<State, Message, Event, Work>,
  acts: readonly Act<Message>[],
): readonly Step<State, Message, Event, Work>[] => {
  const run = runOf(decider, acts);
  for (const step of run) {
    holdsIdempotence(decider, step);
    holdsDeterminism(decider, step);
    holdsRefusal(step);
    holdsFold(step);
  }
  holdsReplay(decider, run);
  holdsUnknownEvents(decider, run);
  holdsMessageIds(run);
  return run;
};
