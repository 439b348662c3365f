import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { Subject } from '@holdpoint/contracts/bus/subjects';

/** What a decision may know of the world beside state and message. */
export type Moment = {
  /** The database's clock, read after the aggregate was locked. Epoch milliseconds. */
  readonly now: number;
};

/** A message that a decision wants sent. It is stored with the decision's events, and published after their commit. */
export type Outgoing = {
  readonly subject: Subject;
  /**
   * Becomes `Nats-Msg-Id`. The same decision must always give the same id; asking again needs a new one,
   * or the server's duplicate window swallows it.
   */
  readonly id: string;
  readonly type: string;
  /** A JSON object. */
  readonly data: object;
};

/** A timer of an aggregate. Setting one that exists moves it; it comes back as a message once it is due. */
export type TimerChange =
  | { readonly set: string; readonly dueAt: number; readonly data?: Json }
  | { readonly clear: string };

/**
 * The bus may lose any command: whoever waits for an answer asks again, at first after this, then ever more rarely.
 * Thousands of tasks may wait for people at the same time, and each of them asks: so it must not be often.
 */
export type ResendTiming = { readonly firstMs: number; readonly lastMs: number };
export const RESEND_TIMING: ResendTiming = { firstMs: 20_000, lastMs: 300_000 };
const REPEAT_FACTOR = 3;

/** How long after the question before it question number `ask` is put, counted from one. */
export const repeatDelayMs = (ask: number, { firstMs, lastMs } = RESEND_TIMING): number =>
  Math.min(firstMs * REPEAT_FACTOR ** (ask - 1), lastMs);

/** Set with question number `ask`, counted from zero: when it has not been answered by then, the next one is put. */
export const repeatTimer = (
  name: string,
  ask: number,
  now: number,
  timing: ResendTiming = RESEND_TIMING,
): TimerChange => ({
  set: name,
  dueAt: now + repeatDelayMs(ask + 1, timing),
  data: { ask: ask + 1 },
});

/** Which question is to be put now, as {@link repeatTimer} has noted it. */
export const resendsOf = (data: Json): number =>
  typeof data === 'object' && data !== null && 'ask' in data ? Number(data['ask']) : 1;

/** A timer that is due, as the decider gets it. */
export type TimerFired = { readonly kind: 'timer'; readonly name: string; readonly data: Json };

export type Answer = { readonly ok: JsonObject } | { readonly error: ErrorBody };

/** What a message leads to. */
export type Decision<Event, Work = never> = {
  readonly events: readonly Event[];
  readonly send: readonly Outgoing[];
  readonly timers: readonly TimerChange[];
  /** Things to do in the world, handed to the service's adapters once the decision is committed. */
  readonly work: readonly Work[];
  /** For the caller, when there is one. */
  readonly answer?: Answer;
};

/**
 * The logic of one kind of aggregate. Both functions are pure: no I/O, no clock, no random number.
 * `decide(after(m), m)` yields no events, because the bus may deliver any message again at any time.
 */
export interface Decider<State, Message, Event, Work = never> {
  readonly initial: State;
  evolve(state: State, event: Event): State;
  /** Throws only on what cannot be; whatever a sender may do wrong has an answer. */
  decide(state: State, message: Message, at: Moment): Decision<Event, Work>;
}

/** A decision from its parts; what is not named is empty. */
export const decision = <Event, Work = never>(
  parts: Partial<Decision<Event, Work>>,
): Decision<Event, Work> => ({
  events: [],
  send: [],
  timers: [],
  work: [],
  ...parts,
});

export const refused = (error: ErrorBody): Decision<never, never> =>
  decision<never, never>({ answer: { error } });
