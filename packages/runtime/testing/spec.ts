import { expect } from 'vitest';
import type { Answer, Decider, Decision, TimerChange } from '../src/decider.ts';

/** The result of one `when`, compared piece by piece; each `then` returns itself. */
export type Outcome<Event, Work> = {
  /** These events, whole and in this order. */
  readonly thenEmits: (...events: readonly Event[]) => Outcome<Event, Work>;
  /** As many events, in this order, with at least these fields. */
  readonly thenEmitsLike: (...events: readonly object[]) => Outcome<Event, Work>;
  /** As many messages, in this order, with at least these fields. */
  readonly thenSends: (...messages: readonly object[]) => Outcome<Event, Work>;
  readonly thenTimes: (...timers: readonly TimerChange[]) => Outcome<Event, Work>;
  readonly thenStarts: (...work: readonly Work[]) => Outcome<Event, Work>;
  readonly thenAnswers: (ok: object) => Outcome<Event, Work>;
  /** The caller gets this error. Other effects are left to the other steps. */
  readonly thenAnswersError: (code: string) => Outcome<Event, Work>;
  /** The caller gets this error, and nothing else happens. */
  readonly thenRefuses: (code: string) => Outcome<Event, Work>;
  /** No event, no message, no timer, no work. */
  readonly thenNothing: () => Outcome<Event, Work>;
};

const codeOf = (answer: Answer | undefined): string | undefined =>
  answer !== undefined && 'error' in answer ? answer.error.code : undefined;

const outcomeOf = <Event, Work>(made: Decision<Event, Work>): Outcome<Event, Work> => {
  const outcome: Outcome<Event, Work> = {
    thenEmits: (...events) => (expect(made.events).toEqual(events), outcome),
    thenEmitsLike: (...events) => (expect(made.events).toMatchObject(events), outcome),
    thenSends: (...messages) => (expect(made.send).toMatchObject(messages), outcome),
    thenTimes: (...timers) => (expect(made.timers).toEqual(timers), outcome),
    thenStarts: (...work) => (expect(made.work).toEqual(work), outcome),
    thenAnswers: (ok) => (expect(made.answer).toMatchObject({ ok }), outcome),
    thenAnswersError: (code) => (expect(codeOf(made.answer)).toBe(code), outcome),
    thenRefuses: (code) => outcome.thenAnswersError(code).thenNothing(),
    thenNothing: () => outcome.thenEmits().thenSends().thenTimes().thenStarts(),
  };
  return outcome;
};

/**
 * Given, when, then. Each act is also decided a second time on the same state, with the same result, and once
 * more on the state after it, without events.
 */
export const specFor = <State, Message, Event, Work = never>(
  decider: Decider<State, Message, Event, Work>,
) => {
  const fold = (state: State, events: readonly Event[]): State =>
    events.reduce((before, event) => decider.evolve(before, event), state);
  return (...history: readonly Event[]) => ({
    when: (message: Message, now: number): Outcome<Event, Work> => {
      const state = fold(decider.initial, history);
      const made = decider.decide(state, message, { now });
      expect(decider.decide(state, message, { now }), 'deciding is a pure function').toEqual(made);
      const again = decider.decide(fold(state, made.events), message, { now });
      expect(again.events, 'the same message again yields no event').toEqual([]);
      return outcomeOf(made);
    },
  });
};

/** What acting adds to a history, for what would be long to write down. */
export const continued = <State, Message, Event, Work>(
  decider: Decider<State, Message, Event, Work>,
  history: readonly Event[],
  ...acts: readonly (readonly [message: Message, now: number])[]
): readonly Event[] => {
  const events = [...history];
  let state = history.reduce((before, event) => decider.evolve(before, event), decider.initial);
  for (const [message, now] of acts) {
    const made = decider.decide(state, message, { now }).events;
    // An act without a `then` is a mistake in the test.
    expect(made, `act ${JSON.stringify(message)} changes something`).not.toEqual([]);
    events.push(...made);
    state = made.reduce((before, event) => decider.evolve(before, event), state);
  }
  return events;
};

/** Events as they came about by acting, from the first. */
export const historyOf = <State, Message, Event, Work>(
  decider: Decider<State, Message, Event, Work>,
  ...acts: readonly (readonly [message: Message, now: number])[]
): readonly Event[] => continued(decider, [], ...acts);
