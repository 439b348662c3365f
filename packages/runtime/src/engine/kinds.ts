import type { Aggregate } from '@holdpoint/contracts/bus/subjects';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Decider, TimerFired } from '../decider.ts';
import type { Lane } from '../host/lanes.ts';
import type { ListRow, Summary } from './ports.ts';

/** The rows of a state in the table that the lists of the service read beside `heads`. */
export interface Listing<State> {
  /** Why the state has its rows: while this stays the same, so do they. Undefined: the state has none. */
  reasonOf(state: State): unknown;
  /** Later states have all of these rows, and perhaps more, until a state has none. */
  rowsOf(aggregate: string, state: State): readonly ListRow[];
}

/** One kind of aggregate, as the engine runs it. */
export interface AggregateKind<State, Message, Event extends { readonly type: string }, Work = never> {
  /** The word in the subjects of its events: `hp.evt.<publishedAs>.<event>.<id>`. */
  readonly publishedAs: Aggregate;
  /** Each commit that adds events is announced: by the last of them if it is public, else by `task.changed`. */
  readonly announcesChanges?: boolean;
  /** Kinds with the same name here share their ids. Left out: the kind shares its ids with no other. */
  readonly idSpace?: string;
  readonly decider: Decider<State, Message | TimerFired, Event, Work>;
  /** Fields of events whose objects many aggregates have in common: stored once, and named by their digests. */
  readonly sharedFields?: readonly string[];
  /** The row that lists show of a state. */
  summarise(state: State): Summary;
  /** What lists need beside that row. Left out: nothing. */
  readonly listing?: Listing<State>;
  /** Whether to take a snapshot of the state at this version, to which the events of one decision have led. */
  snapshotDue(state: State, version: number, events: readonly Event[]): boolean;
  /**
   * Whether the message, as a rule, creates its aggregate. Of an aggregate that the cache lacks the engine then assumes that it
   * does not exist. A wrong answer costs a repetition, and nothing else.
   */
  creates?(message: Message | TimerFired): boolean;
  /** In which order a message is decided among those that wait. Left out: it moves work on, and goes first. */
  laneOf?(message: Message | TimerFired): Lane;
  /** Whether few messages follow to this state, so that the cache keeps fewer of such states. Left out: never. */
  isOver?(state: State): boolean;
  /** A label of the state, for metrics that count how often each is entered. */
  statusOf?(state: State): string;
  /** The task that the aggregate belongs to, and whose trace its decisions join. */
  taskOf?(aggregate: string, state: State): string | undefined;
}

/** The addressee of a message: an aggregate by its id. One that exists keeps the kind that it was created as. */
export type Target<Kind extends string = string> = { readonly kind: Kind; readonly aggregate: string };

export type Addressed<Kind extends string = string, Message = unknown> = Target<Kind> & {
  readonly message: Message;
};

/** The kinds of a service by name: one for each kind that its messages can be addressed to. */
export type KindsOf<To extends Addressed, Event extends { readonly type: string }, Work> = {
  readonly [Each in To as Each['kind']]: AggregateKind<unknown, Each['message'], Event, Work>;
};

/** The same kinds, as the engine looks them up: their types meet again only in the kind itself. */
export type Kinds<Event extends { readonly type: string }, Work> = Readonly<
  Record<string, AggregateKind<unknown, unknown, Event, Work>>
>;

/** Throws `RUNTIME_HISTORY_UNREADABLE` when the service keeps no aggregates of this kind. */
export const kindNamed = <Kind>(kinds: Readonly<Record<string, Kind>>, name: string): Kind => {
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (kind === undefined)
    throw new HoldpointError(
      'RUNTIME_HISTORY_UNREADABLE',
      `unknown kind of aggregate: ${name}: run the release that wrote it`,
    );
  return kind;
};

/** Throws when a message is addressed to another kind than the aggregate has, unless the two share their ids. */
export const checkKind = <Event extends { readonly type: string }, Work>(
  kinds: Kinds<Event, Work>,
  { kind, aggregate }: Target,
  stored: string,
): void => {
  if (kind === stored) return;
  const { idSpace } = kindNamed(kinds, stored);
  if (idSpace === undefined || idSpace !== kindNamed(kinds, kind).idSpace)
    throw new Error(`${aggregate} is of kind ${stored}, the message is for kind ${kind}`);
};
