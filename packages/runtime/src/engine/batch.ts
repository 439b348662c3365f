import { cloudEventHeaders, eventType } from '@holdpoint/contracts/bus/cloudevents';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/bus/streams';
import { type Aggregate, type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import type { Decider, Decision, TimerChange } from '../decider.ts';
import type { BatchWrite, Course, Summary, StoredEvent, TimerRow, WireMessage } from './ports.ts';

/** One kind of aggregate, as the engine runs it. */
export type AggregateKind<State, Message, Event extends { readonly type: string }, Work> = {
  readonly service: ServiceName;
  readonly aggregate: Aggregate;
  readonly decider: Decider<State, Message, Event, Work>;
  /** What lists show of a state. */
  readonly summarise: (state: State) => Summary;
  /** Whether a snapshot is taken of a state at this version, which the events of one decision have led to. */
  readonly snapshotDue: (state: State, version: number, events: readonly Event[]) => boolean;
  /** A word for a state, for whoever counts how often each is entered. */
  readonly statusOf?: (state: State) => string;
  /** The task that an aggregate is about, and in whose trace it is; nothing, where it is about many or about none. */
  readonly taskOf?: (aggregate: string, state: State) => string | undefined;
};

/** What is sent is part of the facts that tell of it, so it has to be smaller than the largest that is read. */
const SENT_MAX_BYTES = PAYLOAD_MAX_BYTES - 64 * 1024;
const FACT_MAX_BYTES = PAYLOAD_MAX_BYTES;

/** A message that the bus would never take would stay in the outbox for ever, and keep back what stands in its row. */
const withinLimit = (what: string, body: string, limit: number): string => {
  // A character has three bytes in UTF-8 at the most, counted as JavaScript counts characters.
  const bytes = body.length * 3 > limit ? Buffer.byteLength(body) : 0;
  if (bytes <= limit) return body;
  const message = `it leads to ${what} of ${String(bytes)} bytes, at most ${String(limit)} are sent`;
  throw new HoldpointError('CONTRACT_PAYLOAD_TOO_LARGE', message);
};

export type Loaded<State> = {
  readonly version: number;
  readonly state: State;
  readonly course?: Course | undefined;
};

/** An event of the batch, and how long after the first one of its aggregate it came. */
export type Told<Event> = {
  readonly event: Event;
  readonly aggregate: string;
  readonly ageMs: number;
  /** Of the last event of a decision: the word that the state goes by since then, if it was another before. */
  readonly entered?: string | undefined;
};

/**
 * Collects what the decisions of one batch change, with each decision seeing the state that the ones before it left.
 * Nothing here touches the world: the engine commits what `write` returns.
 */
export const createBatch = <State, Message, Event extends { readonly type: string }, Work>(
  kind: AggregateKind<State, Message, Event, Work>,
  now: number,
  load: (aggregate: string) => Loaded<State>,
) => {
  const current = new Map<string, Loaded<State>>();
  const events: StoredEvent[] = [];
  const told: Told<Event>[] = [];
  const outbox: WireMessage[] = [];
  const snapshots = new Map<string, BatchWrite['snapshots'][number]>();
  const timers = new Map<string, TimerRow | { aggregate: string; name: string }>();

  const stateOf = (aggregate: string): Loaded<State> => current.get(aggregate) ?? load(aggregate);

  const append = (aggregate: string, added: readonly Event[], trace: string | undefined): void => {
    const before = stateOf(aggregate);
    let { version, state } = before;
    const facts = added.map((event) => {
      version += 1;
      state = kind.decider.evolve(state, event);
      const body = withinLimit(event.type, JSON.stringify(event), FACT_MAX_BYTES);
      return { aggregate, version, type: event.type, at: now, trace, body };
    });
    // Only now, so that an event which cannot be folded leaves nothing of its decision behind.
    events.push(...facts);
    const since = before.course?.since ?? now;
    const status = kind.statusOf?.(state);
    const entered = status === kind.statusOf?.(before.state) ? undefined : status;
    added.forEach((event, index) => {
      const isLast = index === added.length - 1;
      told.push({
        event,
        aggregate,
        ageMs: now - since,
        ...(isLast && entered !== undefined && { entered }),
      });
    });
    if (kind.snapshotDue(state, version, added)) {
      // A later one of the same batch takes its place.
      snapshots.set(aggregate, { aggregate, version, state: JSON.stringify(state) });
    }
    current.set(aggregate, { version, state, course: { since, at: now, trace } });
  };

  const setTimer = (aggregate: string, change: TimerChange, trace: string | undefined): void => {
    const name = 'set' in change ? change.set : change.clear;
    const row = 'set' in change ? { dueAt: change.dueAt, data: change.data ?? null, trace } : {};
    timers.set(`${aggregate}/${name}`, { aggregate, name, ...row });
  };

  const apply = (aggregate: string, made: Decision<Event, Work>, trace?: string): void => {
    // Before the events, so that what cannot be sent leaves nothing of its decision behind.
    const messages = made.send.map(({ subject, id, type, data }): WireMessage => {
      const body = withinLimit(type, JSON.stringify(data), SENT_MAX_BYTES);
      const headers = cloudEventHeaders({
        id,
        source: kind.service,
        type,
        subject: aggregate,
        time: now,
        trace,
      });
      return { subject, headers, body };
    });
    if (made.events.length > 0) append(aggregate, made.events, trace);
    outbox.push(...messages);
    for (const change of made.timers) setTimer(aggregate, change, trace);
  };

  return {
    stateOf,
    /** For whoever counts them. */
    told: (): readonly Told<Event>[] => told,
    decide: (aggregate: string, message: Message): Decision<Event, Work> =>
      kind.decider.decide(stateOf(aggregate).state, message, { now }),
    apply,
    setTimer,
    /** The dead letter of a message, stored like any other outgoing one. */
    post: (message: WireMessage): void => void outbox.push(message),
    write: (outboxConfirmed: readonly string[]): BatchWrite => ({
      events,
      outbox,
      outboxConfirmed,
      snapshots: [...snapshots.values()],
      timersSet: [...timers.values()].filter((timer): timer is TimerRow => 'dueAt' in timer),
      timersCleared: [...timers.values()].filter((timer) => !('dueAt' in timer)),
      heads: [...current].map(([aggregate, { version, state }]) => ({
        aggregate,
        version,
        ...kind.summarise(state),
      })),
    }),
    states: (): ReadonlyMap<string, Loaded<State>> => current,
  };
};

/** The fact that an event is to everybody else. The same event always makes the same message. */
export const factOf = (
  kind: Pick<AggregateKind<never, never, never, never>, 'service' | 'aggregate'>,
  event: StoredEvent,
): WireMessage => ({
  subject: subjects.fact(kind.aggregate, event.type, event.aggregate),
  headers: cloudEventHeaders({
    // Task and recovery share their ids, so the kind is part of the message id.
    id: `${kind.aggregate}.${event.aggregate}.${String(event.version)}`,
    source: kind.service,
    type: eventType(kind.aggregate, event.type),
    subject: event.aggregate,
    time: event.at,
    version: event.version,
    trace: event.trace,
  }),
  body: event.body,
});

export const isEmpty = (write: BatchWrite): boolean =>
  write.events.length === 0 &&
  write.outbox.length === 0 &&
  write.timersSet.length === 0 &&
  write.timersCleared.length === 0 &&
  write.outboxConfirmed.length === 0;
