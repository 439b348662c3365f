import { cloudEventHeaders, eventType } from '@holdpoint/contracts/bus/cloudevents';
import { isInternal } from '@holdpoint/contracts/catalog/event-list';
import { CHANGED, type TaskChanged } from '@holdpoint/contracts/task/changed';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/bus/streams';
import { type Aggregate, type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import type { Decision, Moment, TimerChange } from '../decider.ts';
import { checkKind, kindNamed, type Kinds, type Target } from './kinds.ts';
import type {
  AggregateTimes,
  BatchWrite,
  DeadLetterRow,
  ListRow,
  StoredEvent,
  TimerKey,
  TimerRow,
  WireMessage,
} from './ports.ts';
import { shorten, type SharedContent } from './shared-content.ts';

/** An event quotes the messages that it led to, so these have to be smaller than the largest event. */
const SENT_MAX_BYTES = PAYLOAD_MAX_BYTES - 64 * 1024;
const EVENT_MAX_BYTES = PAYLOAD_MAX_BYTES;

/** The bus would never accept a larger message: it would stay in the outbox and block the others of its row. */
const withinLimit = (what: string, body: string, limit: number): string => {
  // A UTF-16 code unit takes at most three bytes in UTF-8.
  const bytes = body.length * 3 > limit ? Buffer.byteLength(body) : 0;
  if (bytes <= limit) return body;
  const message = `it leads to ${what} of ${String(bytes)} bytes, at most ${String(limit)} are sent`;
  throw new HoldpointError('CONTRACT_PAYLOAD_TOO_LARGE', message);
};

/** An aggregate as a decision finds it. `version` is 0 when it does not exist yet. */
export type Loaded<State = unknown> = {
  readonly kind: string;
  readonly version: number;
  readonly state: State;
  readonly times?: AggregateTimes | undefined;
};

/** An event that was committed. */
export type CommittedEvent<Event> = Target & {
  readonly event: Event;
  readonly version: number;
  /** Time of the commit, epoch milliseconds. */
  readonly at: number;
  /** Milliseconds since the first event of its aggregate. */
  readonly ageMs: number;
  /** On the last event of a decision that changed the status of the aggregate: the new status. */
  readonly entered?: string | undefined;
};

/** The last change of a timer, and the messages of the decision that made it. */
type ChangedTimer = TimerKey & {
  readonly change: TimerChange;
  readonly trace: string | undefined;
  readonly sent: readonly WireMessage[];
};

/**
 * Collects the changes of one batch. Each decision sees the state that the decisions before it left.
 * No I/O happens here: the engine commits the result of `write`.
 */
export const createBatch = <Event extends { readonly type: string }, Work>(
  service: ServiceName,
  kinds: Kinds<Event, Work>,
  /** The clock of the store, at the latest lock. */
  moment: Moment,
  load: (target: Target) => Loaded,
  /** Takes a message whose receiver decides it in the same transaction. All others go over the bus. */
  deliver: (message: WireMessage) => boolean = () => false,
) => {
  const current = new Map<string, Loaded>();
  const events: StoredEvent[] = [];
  const committedEvents: CommittedEvent<Event>[] = [];
  /** The messages that go over the bus, in order. */
  const outbox = new Set<WireMessage>();
  const snapshots = new Map<string, BatchWrite['snapshots'][number]>();
  const shared = new Map<string, SharedContent>();
  const deadLetters: DeadLetterRow[] = [];
  const timers = new Map<string, ChangedTimer>();
  /** The changed aggregates, as the batch found them. */
  const found = new Map<string, Loaded>();

  /** The public events, and the last event of each aggregate that announces its changes. */
  const announced = (): readonly StoredEvent[] => {
    const last = new Map(events.map((event) => [event.aggregate, event]));
    return events.filter(
      (event) =>
        !isInternal(service, event.type) ||
        (last.get(event.aggregate) === event && kindNamed(kinds, event.kind).announcesChanges === true),
    );
  };

  const stateOf = (target: Target): Loaded => {
    const loaded = current.get(target.aggregate) ?? load(target);
    checkKind(kinds, target, loaded.kind);
    return loaded;
  };

  const append = (
    target: Target,
    { events: added, after }: Decision<Event, Work>,
    trace: string | undefined,
    sealKey: string | undefined,
  ): readonly StoredEvent[] => {
    const { aggregate } = target;
    const { now } = moment;
    const before = stateOf(target);
    const kind = kindNamed(kinds, before.kind);
    let { version, state } = before;
    if (!found.has(aggregate)) found.set(aggregate, before);
    const contents: SharedContent[] = [];
    const stored = added.map((event) => {
      version += 1;
      if (after === undefined) state = kind.decider.evolve(state, event);
      const short = shorten(event, kind.sharedFields);
      contents.push(...short.contents);
      const proven = sealKey === undefined ? short.event : { ...short.event, sealKey };
      const body = withinLimit(event.type, JSON.stringify(proven), EVENT_MAX_BYTES);
      return { kind: before.kind, aggregate, version, type: event.type, at: now, trace, body };
    });
    state = after ?? state;
    // Only now: an event that cannot be folded leaves nothing of its decision behind.
    events.push(...stored);
    for (const content of contents) shared.set(content.digest, content);
    const since = before.times?.since ?? now;
    const status = kind.statusOf?.(state);
    const entered = status === kind.statusOf?.(before.state) ? undefined : status;
    added.forEach((event, index) => {
      const isLast = index === added.length - 1;
      committedEvents.push({
        kind: before.kind,
        event,
        aggregate,
        version: before.version + index + 1,
        at: now,
        ageMs: now - since,
        ...(isLast && entered !== undefined && { entered }),
      });
    });
    if (kind.snapshotDue(state, version, added)) {
      // A later snapshot of the same batch replaces it.
      snapshots.set(aggregate, { aggregate, version, state: JSON.stringify(state) });
    }
    current.set(aggregate, { kind: before.kind, version, state, times: { since, at: now, trace } });
    return stored;
  };

  /** The changes of the table of lists. */
  const listings = (): Pick<BatchWrite, 'listed' | 'unlisted'> => {
    const listed: ListRow[] = [];
    const unlisted: string[] = [];
    for (const [aggregate, { kind, state }] of current) {
      const { listing } = kindNamed(kinds, kind);
      const before = listing?.reasonOf(found.get(aggregate)?.state);
      const after = listing?.reasonOf(state);
      if (listing === undefined || after === before) continue;
      if (after === undefined) unlisted.push(aggregate);
      else listed.push(...listing.rowsOf(aggregate, state));
    }
    return { ...(listed.length > 0 && { listed }), ...(unlisted.length > 0 && { unlisted }) };
  };

  const setTimer = (
    aggregate: string,
    change: TimerChange,
    trace: string | undefined,
    sent: readonly WireMessage[] = [],
  ): void => {
    const name = 'set' in change ? change.set : change.clear;
    timers.set(`${aggregate}/${name}`, { aggregate, name, change, trace, sent });
  };

  /** Known only at the end: a message that its receiver refuses goes over the bus after all. */
  const isDecided = (sent: readonly WireMessage[]): boolean =>
    sent.length > 0 && !sent.some((message) => outbox.has(message));

  /** The changes of the table of timers. */
  const timerRows = (): Pick<BatchWrite, 'timersSet' | 'timersCleared'> => {
    const timersSet: TimerRow[] = [];
    const timersCleared: TimerKey[] = [];
    for (const { aggregate, name, change, trace, sent } of timers.values()) {
      if ('set' in change) {
        const { dueAt, dueIfDecided, data = null } = change;
        const isLate = dueIfDecided !== undefined && isDecided(sent);
        timersSet.push({ aggregate, name, dueAt: isLate ? dueIfDecided : dueAt, data, trace });
      } else if (found.get(aggregate)?.version !== 0) {
        // No timer is stored of an aggregate that did not exist.
        timersCleared.push({ aggregate, name });
      }
    }
    return { timersSet, timersCleared };
  };

  /**
   * Returns the events as they are stored. `sealKey`: the key that sealed the message. The stored events name it, as the proof of
   * their cause.
   */
  const apply = (
    target: Target,
    made: Decision<Event, Work>,
    trace?: string,
    sealKey?: string,
  ): readonly StoredEvent[] => {
    const { aggregate } = target;
    const { now } = moment;
    // Before the events: a message that is too large leaves nothing of its decision behind.
    const messages = made.send.map(({ subject, id, type, data }): WireMessage => {
      const body = withinLimit(type, JSON.stringify(data), SENT_MAX_BYTES);
      const headers = cloudEventHeaders({ id, source: service, type, subject: aggregate, time: now, trace });
      return { subject, headers, body };
    });
    const stored = made.events.length > 0 ? append(target, made, trace, sealKey) : [];
    for (const message of messages) if (!deliver(message)) outbox.add(message);
    for (const change of made.timers) setTimer(aggregate, change, trace, messages);
    return stored;
  };

  return {
    stateOf,
    /** For the metrics, once the batch is committed. */
    committedEvents: (): readonly CommittedEvent<Event>[] => committedEvents,
    decide: (target: Target, message: unknown): Decision<Event, Work> => {
      const { kind, state } = stateOf(target);
      return kindNamed(kinds, kind).decider.decide(state, message, moment);
    },
    apply,
    /** Sends a message over the bus. */
    send: (message: WireMessage): void => void outbox.add(message),
    setTimer,
    keepDeadLetter: (row: DeadLetterRow): void => void deadLetters.push(row),
    write: (outboxConfirmed: readonly string[]): BatchWrite => ({
      events,
      announced: announced(),
      outbox: [...outbox],
      outboxConfirmed,
      snapshots: [...snapshots.values()],
      ...timerRows(),
      heads: [...current].map(([aggregate, { kind, version, state }]) => ({
        aggregate,
        kind,
        version,
        ...kindNamed(kinds, kind).summarise(state),
      })),
      ...listings(),
      ...(shared.size > 0 && { shared: [...shared.values()] }),
      ...(deadLetters.length > 0 && { deadLetters }),
    }),
    states: (): ReadonlyMap<string, Loaded> => current,
  };
};

type Announced = { readonly publishedAs: Aggregate; readonly message: WireMessage };
const made = new WeakMap<StoredEvent, Announced>();

/**
 * The message that announces an event: the event itself, or `changed` in the place of an internal one. The same event always
 * makes the same message. Services of the process see it before it is published, so it is made once.
 */
export const eventMessage = (
  service: ServiceName,
  publishedAs: Aggregate,
  event: StoredEvent,
): WireMessage => {
  const known = made.get(event);
  if (known?.publishedAs === publishedAs) return known.message;
  const message = announce(service, publishedAs, event);
  made.set(event, { publishedAs, message });
  return message;
};

const announce = (service: ServiceName, publishedAs: Aggregate, event: StoredEvent): WireMessage => {
  const { aggregate, version, trace } = event;
  const internal = isInternal(service, event.type);
  const type = internal ? CHANGED : event.type;
  return {
    subject: subjects.event(publishedAs, type, aggregate),
    headers: cloudEventHeaders({
      // Tasks and their attempts share ids, so the message id contains `publishedAs`.
      id: `${publishedAs}.${event.aggregate}.${String(event.version)}`,
      source: service,
      type: eventType(publishedAs, type),
      subject: aggregate,
      time: event.at,
      version,
      trace,
    }),
    body: internal ? JSON.stringify(changeOf(event)) : event.body,
  };
};

const changeOf = ({ aggregate, version, type, body }: StoredEvent) => {
  const { phase } = JSON.parse(body) as Pick<TaskChanged, 'phase'>;
  return { type: CHANGED, id: aggregate, version, phase, latest: type };
};

export const isEmpty = (write: BatchWrite): boolean =>
  write.events.length === 0 &&
  write.outbox.length === 0 &&
  write.timersSet.length === 0 &&
  write.timersCleared.length === 0 &&
  write.outboxConfirmed.length === 0 &&
  write.deadLetters === undefined;
