import type { HeaderPairs } from '@holdpoint/contracts/bus/cloudevents';
import type { Json } from '@holdpoint/contracts/values/json';
import type { Subject } from '@holdpoint/contracts/bus/subjects';

/** A message as it stands in the outbox and goes over the wire. `body` is JSON text. */
export type WireMessage = { readonly subject: string; readonly headers: HeaderPairs; readonly body: string };

export type StoredEvent = {
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

/** What lists show of an aggregate: a word to select by, and the fields themselves as a JSON object. */
export type Summary = { readonly status: string; readonly view: object | null };

/** The one row that stands for an aggregate: its version, which is locked and compared, and its summary. */
export type Head = Summary & { readonly aggregate: string; readonly version: number };

/** Everything that one batch changes. */
export type BatchWrite = {
  readonly events: readonly StoredEvent[];
  readonly timersSet: readonly TimerRow[];
  readonly timersCleared: readonly TimerKey[];
  /**
   * What is to be published beside the events themselves. The events of the batch are facts for everybody: the outbox
   * row only points at them, so that nothing is stored twice.
   */
  readonly outbox: readonly WireMessage[];
  /** Outbox rows whose messages the bus has confirmed since. */
  readonly outboxConfirmed: readonly string[];
  readonly snapshots: readonly {
    readonly aggregate: string;
    readonly version: number;
    readonly state: string;
  }[];
  /** Of every aggregate that has events in this batch. */
  readonly heads: readonly Head[];
};

/** What is needed to rebuild one aggregate: the latest snapshot, if any, and the events after it. */
export type History = {
  readonly snapshot: { readonly version: number; readonly state: unknown } | undefined;
  readonly events: readonly unknown[];
  /** When it began, and where the latest event stands. Without it nothing is said of either. */
  readonly course?: Course | undefined;
};

/** When an aggregate began, and when its latest event was, in epoch milliseconds; and the trace of that. */
export type Course = { readonly since: number; readonly at: number; readonly trace: string | undefined };

/** An open transaction that holds the locks of its aggregates. It ends with `commit` or `rollback`. */
export interface Transaction {
  /** The store's clock, read after the locks were held. Epoch milliseconds. */
  readonly now: number;
  /**
   * The first on its connection, or the first since something was retired. A connection may lead to another server, or to
   * the same one after a restore, and an id that was retired may be used again: the same version may stand for something
   * else, and what is remembered of states does not count.
   */
  readonly anew?: boolean;
  /** Versions of the locked aggregates; what is not here does not exist yet. */
  readonly versions: ReadonlyMap<string, number>;
  load(aggregates: readonly string[]): Promise<ReadonlyMap<string, History>>;
  /** Returns the id of the outbox row. Throws `Conflict` or `CommitUnknown`. */
  commit(write: BatchWrite): Promise<string | undefined>;
  rollback(): Promise<void>;
}

/** What a batch had to publish: its own messages, and the events that it committed. */
export type OutboxRow = {
  readonly id: string;
  readonly messages: readonly WireMessage[];
  readonly events: readonly StoredEvent[];
};

/** The store of record, as the engine needs it. */
export interface Store {
  lock(aggregates: readonly string[]): Promise<Transaction>;
  /** Locks aggregates with due timers that nobody else holds, and reads those timers behind the lock. */
  lockDue(limit: number): Promise<{ readonly transaction: Transaction; readonly due: readonly TimerRow[] }>;
  /** Claims outbox rows that have waited longer than `olderThanMs`, for `claimMs`. */
  claimOutbox(olderThanMs: number, claimMs: number, limit: number): Promise<readonly OutboxRow[]>;
  confirmOutbox(ids: readonly string[]): Promise<void>;
}

/** Where messages go. */
export interface Publisher {
  /** Sends all at once; resolves to true once the bus has confirmed every one, to false when any stays unknown. */
  publish(messages: readonly WireMessage[]): Promise<boolean>;
}

/**
 * Says something to whoever listens at this moment: at once or not at all, and nobody confirms it. False when it was not
 * taken, because the bus is away or cannot keep up. Nothing may depend on what is said so.
 */
export type Announce = (subject: Subject, body: string) => boolean;

/** Somebody else created the same aggregate at the same moment, or a lock cycle was broken: decide again. */
export class Conflict extends Error {
  override readonly name = 'Conflict';
}
/** The commit was sent and not answered: it may or may not stand. */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown';
}
/** The store refuses the data itself; the same batch will never go through. */
export class DataRefused extends Error {
  override readonly name = 'DataRefused';
}

/**
 * Places where a test may end the process, or the engine, as a crash would. The last two are the executor's, around the line in
 * its journal that comes before each start.
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
