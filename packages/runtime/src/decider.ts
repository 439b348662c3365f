import { type ErrorBody, HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { Subject } from '@holdpoint/contracts/bus/subjects';

/** The input of a decision beside state and message. */
export type Moment = {
  /** The database's clock, read after the aggregate was locked. Epoch milliseconds. */
  readonly now: number;
};

/** A message to send. It is stored with the events of the decision, and published after their commit. */
export type Outgoing = {
  readonly subject: Subject;
  /**
   * Becomes `Nats-Msg-Id`. The same decision always gives the same id; a resend needs a new one, or the
   * server's duplicate window drops it.
   */
  readonly id: string;
  readonly type: string;
  /** A JSON object. */
  readonly data: object;
};

/** A timer of an aggregate. Setting an existing one moves it. A due timer returns as a message. */
export type TimerChange =
  | {
      readonly set: string;
      readonly dueAt: number;
      /** In place of `dueAt`, if receivers decide all messages of the decision in its transaction. */
      readonly dueIfDecided?: number;
      readonly data?: Json;
    }
  | { readonly clear: string };

/**
 * The bus may lose any command, so a sender that waits for an answer resends: first after `firstMs`, then at
 * growing intervals up to `lastMs`. Thousands of tasks may wait for approvers at the same time, so the
 * intervals are long.
 */
export type ResendTiming = { readonly firstMs: number; readonly lastMs: number };
export const RESEND_TIMING: ResendTiming = { firstMs: 20_000, lastMs: 21_600_000 };
const RESEND_FACTOR = 3;

/** The field with the number of the resend. The store finds the timers of resends by it. */
export const RESEND = 'attempt';

/** The delay before resend number `resend`, counted from one. */
export const resendDelayMs = (resend: number, { firstMs, lastMs } = RESEND_TIMING): number =>
  Math.min(firstMs * RESEND_FACTOR ** (resend - 1), lastMs);

/**
 * Set when a command is sent: 0 for the first time, then the number of the resend. Fires unless it is cleared
 * by the answer.
 */
export const resendTimer = (
  name: string,
  resends: number,
  now: number,
  timing: ResendTiming = RESEND_TIMING,
): TimerChange => ({
  set: name,
  dueAt: now + resendDelayMs(resends + 1, timing),
  data: { [RESEND]: resends + 1 },
});

/**
 * {@link resendTimer} of a question to a person, who may take days. A question that approvals decides in the transaction that
 * asks it is not lost, so its resends are rare from the first on.
 */
export const questionTimer = (
  name: string,
  resends: number,
  now: number,
  timing: ResendTiming = RESEND_TIMING,
): TimerChange => ({ ...resendTimer(name, resends, now, timing), dueIfDecided: now + timing.lastMs });

/** Adds messages and timers to a decision. */
export type OutgoingBuilder = {
  readonly send: (message: Outgoing) => void;
  readonly timer: (change: TimerChange) => void;
  /** Sets the timer that sends an unanswered command again. `resends` counts how often it was sent again. */
  readonly resendTimer: (name: string, resends: number) => void;
  /** The same for a question to a person. */
  readonly questionTimer: (name: string, resends: number) => void;
};

/** The messages and timers that `builder` adds are in `made`, in order. */
export const buildOutgoing = (
  now: number,
  timing: ResendTiming,
): {
  readonly made: Pick<Decision<never>, 'send' | 'timers'>;
  readonly builder: OutgoingBuilder;
} => {
  const send: Outgoing[] = [];
  const timers: TimerChange[] = [];
  const timer = (change: TimerChange): void => void timers.push(change);
  return {
    made: { send, timers },
    builder: {
      send: (message) => void send.push(message),
      timer,
      resendTimer: (name, resends) => timer(resendTimer(name, resends, now, timing)),
      questionTimer: (name, resends) => timer(questionTimer(name, resends, now, timing)),
    },
  };
};

/** The number of the resend that is due, from the data of {@link resendTimer}. */
export const resendsOf = (data: Json): number =>
  typeof data === 'object' && data !== null && RESEND in data ? Number(data[RESEND]) : 1;

/** A due timer, as a message to the decider. */
export type TimerFired = { readonly kind: 'timer'; readonly name: string; readonly data: Json };

export type Answer = { readonly ok: JsonObject } | { readonly error: ErrorBody };

/** The result of a decision. */
export type Decision<Event, Work = never> = {
  readonly events: readonly Event[];
  readonly send: readonly Outgoing[];
  readonly timers: readonly TimerChange[];
  /** Work for the adapters of the service, begun after the commit. */
  readonly work: readonly Work[];
  /** The answer to the caller, if the message has one. */
  readonly answer?: Answer;
  /** The state after the events, of a decider that has folded them already. It equals their fold. */
  readonly after?: unknown;
};

/**
 * The logic of one kind of aggregate. Both functions are pure: no I/O, no clock, no random number.
 * `decide(after(m), m)` yields no events, because the bus may deliver any message again at any time.
 */
export interface Decider<State, Message, Event, Work = never> {
  readonly initial: State;
  /** Throws on an event that it does not know, or that cannot follow the ones before it. */
  evolve(state: State, event: Event): State;
  /** Throws only on a defect. A mistake of a sender has an answer. */
  decide(state: State, message: Message, at: Moment): Decision<Event, Work>;
}

/** An event as it is stored: with the key that sealed the message behind it, as the proof of its cause. */
type Stored<Event> = Event & { readonly sealKey?: string };

/** The default of every `evolve`. Typed as `never`, so that no event of this release is forgotten. */
export const unknownEvent = (event: never): never => {
  throw new Error(`unknown event: ${(event as { readonly type: string }).type}`);
};

const unreadable = (event: unknown, cause: unknown): HoldpointError => {
  const { type } = (event ?? {}) as { readonly type?: unknown };
  return new HoldpointError(
    'RUNTIME_HISTORY_UNREADABLE',
    `cannot read a stored event of type ${String(type)}: run the release that wrote it`,
    { cause },
  );
};

/**
 * The state after stored events. Their proofs are no part of a state, or views and messages would show them. Throws
 * `RUNTIME_HISTORY_UNREADABLE`.
 */
export const foldStored = <State, Event>(
  decider: { evolve(state: State, event: Event): State },
  start: State,
  stored: readonly Event[],
): State =>
  stored.reduce((state, each) => {
    try {
      const { sealKey: _, ...event } = each as Stored<Event>;
      return decider.evolve(state, event as unknown as Event);
    } catch (cause) {
      throw unreadable(each, cause);
    }
  }, start);

/** A decision from its parts; parts that are left out are empty. */
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
