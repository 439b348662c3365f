import type { DeadLetter, DeadLetterResolved } from '@holdpoint/contracts/bus/dead-letter';
import type { HeaderPairs } from '@holdpoint/contracts/bus/cloudevents';
import type { Json } from '@holdpoint/contracts/values/json';
import type { Subject } from '@holdpoint/contracts/bus/subjects';
import type { SharedContent } from './shared-content.ts';

/** A message as it stands in the outbox and goes over the wire. `body` is JSON text. */
export type WireMessage = { readonly subject: string; readonly headers: HeaderPairs; readonly body: string };

export type StoredEvent = {
  /** The kind of its aggregate. */
  readonly kind: string;
  readonly aggregate: string;
  readonly version: number;
  readonly type: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly trace: string | undefined;
  /** JSON text of the event. */
  readonly body: string;
};

export type TimerRow = {
  readonly aggregate: string;
  readonly name: string;
  readonly dueAt: number;
  readonly data: Json;
  readonly trace: string | undefined;
};
export type TimerKey = { readonly aggregate: string; readonly name: string };

/** The read-model row of an aggregate: a status to filter by, and a JSON view. */
export type Summary = { readonly status: string; readonly view: object | null };

/** The one row of an aggregate: its kind, its version, which is locked and compared, and its summary. */
export type Head = Summary & { readonly aggregate: string; readonly kind: string; readonly version: number };

/** What the lock tells of an aggregate that exists. */
export type Locked = { readonly kind: string; readonly version: number };

/** A message that the service cannot handle, as its store keeps it. */
export type DeadLetterRow = {
  /** The same for every delivery of the message, so that it has one dead letter. */
  readonly id: string;
  readonly letter: Omit<DeadLetter, 'body'>;
  readonly body: Uint8Array;
};

/** A dead letter with its whole body. */
export type KeptDeadLetter = DeadLetterRow & { readonly resolution?: DeadLetterResolved | undefined };

/** The dead letters of a service, by their number. Throws when the store is away. */
export interface DeadLetterStore {
  find(place: number): Promise<KeptDeadLetter | undefined>;
  /** Stores the resolution. Of several, the first stays: returns it. Undefined when there is no such dead letter. */
  resolve(place: number, resolution: DeadLetterResolved): Promise<DeadLetterResolved | undefined>;
}

/** The clock of a transaction without locks may lag by so much. Milliseconds. */
export const CLOCK_LAG_MAX_MS = 50;

/** A row of the table that the lists of a service read, by column. Its `id` is that of the aggregate. */
export type ListRow = { readonly id: string } & Readonly<Record<string, string | number>>;

/** Everything that one batch changes. */
export type BatchWrite = {
  readonly events: readonly StoredEvent[];
  /** Those of the events that the outbox row points at: each leads to one message. */
  readonly announced: readonly StoredEvent[];
  readonly timersSet: readonly TimerRow[];
  readonly timersCleared: readonly TimerKey[];
  /**
   * Messages to publish beside the announced events. The outbox row only points at those, so that nothing is stored
   * twice.
   */
  readonly outbox: readonly WireMessage[];
  /** Outbox rows whose messages the bus has confirmed since. */
  readonly outboxConfirmed: readonly string[];
  readonly snapshots: readonly {
    readonly aggregate: string;
    readonly version: number;
    readonly state: string;
  }[];
  /** One for each aggregate that has events in this batch. */
  readonly heads: readonly Head[];
  /** Rows of aggregates in the table of lists. A row that exists is left as it is. */
  readonly listed?: readonly ListRow[];
  /** Aggregates that leave the table of lists, with all rows. */
  readonly unlisted?: readonly string[];
  /** Content of fields that the events name by their digests. A digest that is known is left as it is. */
  readonly shared?: readonly SharedContent[];
  /** An id that is known is left as it is. */
  readonly deadLetters?: readonly DeadLetterRow[];
};

/** The input for rebuilding one aggregate: the latest snapshot, if any, and the events after it. */
export type History = {
  readonly snapshot: { readonly version: number; readonly state: unknown } | undefined;
  readonly events: readonly unknown[];
  /** Undefined when the aggregate has no events. */
  readonly times?: AggregateTimes | undefined;
};

/** The times of the first and of the latest event of an aggregate, in epoch milliseconds, and the trace of the latest. */
export type AggregateTimes = {
  readonly since: number;
  readonly at: number;
  readonly trace: string | undefined;
};

/**
 * The part of an open transaction in the schema of one service. It holds the locks of its aggregates, and ends with `commit` or
 * `rollback`. Parts of several services make one transaction: the first part ends it for all.
 */
export interface Transaction {
  /** What the parts of one transaction have in common. Only their stores know what it is. */
  readonly unit: object;
  /** The store's clock, read after the locks were held. Epoch milliseconds. */
  readonly now: number;
  /**
   * True for the first transaction on a connection, and for the first after a purge. The connection may lead to another
   * server or to a restored one, and a purged id may be used again: cached states do not count.
   */
  readonly cacheInvalid?: boolean;
  /** The locked or assumed aggregates. An id that is missing here does not exist yet. */
  readonly locked: ReadonlyMap<string, Locked>;
  /** It holds no lock: every commit, also of an empty write, compares the versions of its aggregates. */
  readonly isAssumed?: true;
  load(aggregates: readonly string[]): Promise<ReadonlyMap<string, History>>;
  /**
   * Returns the id of the outbox row. Throws `Conflict`, `DataRefused` or `CommitUnknown`. The write of a joined part takes effect
   * with the commit of the first part, which has to be called after it, in the same turn.
   */
  commit(write: BatchWrite): Promise<string | undefined>;
  rollback(): Promise<void>;
}

/** The messages of one batch: those of its decisions, and the events that it announces. */
export type OutboxRow = {
  readonly id: string;
  readonly messages: readonly WireMessage[];
  readonly events: readonly StoredEvent[];
};

/** The schema of one service in the store of record, as the engine needs it. */
export interface Store {
  /** Begins a transaction; with `within` joins one that another service of the process, or this one, has begun. */
  lock(aggregates: readonly string[], within?: Transaction): Promise<Transaction>;
  /**
   * Begins or joins a transaction on aggregates whose states the caller knows, without a lock and without a round trip.
   * `undefined` stands for an aggregate that does not exist. The commit throws `Conflict` when a version differs. `now` is the
   * latest reading of the store's clock plus the time since then: it lags by at most `CLOCK_LAG_MAX_MS`. Returns undefined when
   * the store has to be asked: on a connection without an earlier transaction, or without a recent reading.
   */
  assume(
    known: ReadonlyMap<string, Locked | undefined>,
    within?: Transaction,
  ): Promise<Transaction | undefined>;
  /** Milliseconds until the first timer is due, by the store's clock: infinity without one. Asked without a transaction. */
  nextDue(): Promise<number>;
  /** Locks aggregates with due timers, skips those that another transaction holds, and reads the timers behind the lock. */
  lockDue(limit: number): Promise<{ readonly transaction: Transaction; readonly due: readonly TimerRow[] }>;
  /** Claims outbox rows that have waited longer than `olderThanMs`, for `claimMs`. */
  claimOutbox(olderThanMs: number, claimMs: number, limit: number): Promise<readonly OutboxRow[]>;
  confirmOutbox(ids: readonly string[]): Promise<void>;
}

/** The way to the bus. */
export interface Publisher {
  /** Sends all at once; resolves to true once the bus has confirmed every one, to false when any stays unknown. */
  publish(messages: readonly WireMessage[]): Promise<boolean>;
}

/**
 * Publishes to current subscribers only, unconfirmed. Returns false when the bus is away or cannot keep up. Nothing may
 * depend on the message.
 */
export type Announce = (subject: Subject, body: string) => boolean;

/** Another process created the same aggregate at the same moment, or the database broke a lock cycle: decide again. */
export class Conflict extends Error {
  override readonly name = 'Conflict';
}
/** The commit was sent, but not answered: it may or may not have happened. */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown';
}
/** Another process owns the service: nothing was committed, and the same batch never will be by this process. */
export class Fenced extends Error {
  override readonly name = 'Fenced';
}
/** The store refuses the data itself: the same batch will never commit. */
export class DataRefused extends Error {
  override readonly name = 'DataRefused';
}

/**
 * Points at which a test may crash the process or the engine. The last two belong to the executor: before and after the
 * journal line that precedes each start.
 */
export const CRASH_POINTS = [
  'before_commit',
  'after_commit',
  'after_publish',
  'after_ack',
  'before_note',
  'after_note',
] as const;
export type CrashPoint = (typeof CRASH_POINTS)[number];
export type CrashHook = (point: CrashPoint) => void;
