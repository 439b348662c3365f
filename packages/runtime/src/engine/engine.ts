import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { CommittedEvent } from './batch.ts';
import type { Answer } from '../decider.ts';
import { createHost, type HostOptions } from '../host/host.ts';
import type { Inbound } from './intake.ts';
import type { Addressed, Kinds } from './kinds.ts';
import type { Routed } from './inbound.ts';
import type { EngineObserver } from './observer.ts';
import type { DeadLetterRow, Publisher, Store } from './ports.ts';

/** What the sender of a message learns. Exactly one of the callbacks is called, once. */
export type Callbacks = {
  /** The decision is durable. */
  readonly committed: (answer: Answer | undefined) => void;
  /** The message itself cannot be handled. The rest of its batch was handled. */
  readonly failed: (error: ErrorBody, cause: unknown) => void;
  /** The store did not take the batch; nothing happened. */
  readonly unavailable: () => void;
};

/** One service of a host. */
export type EngineOptions<Event extends { readonly type: string }, Work> = {
  /** The source of everything that is published. */
  readonly service: ServiceName;
  readonly kinds: Kinds<Event, Work>;
  /** The stores of all services of a host are on the same database. */
  readonly store: Store;
  readonly publisher: Publisher;
  /** Whether receivers can verify the messages of this process. Until then they wait in the outbox. Left out: they can. */
  readonly mayPublish?: (() => boolean) | undefined;
  readonly perform: (work: Work, trace: string | undefined, task: string | undefined) => void;
  readonly observer: EngineObserver;
  /** Called with the events of each batch after its commit, for metrics. */
  readonly onCommitted?: ((events: readonly CommittedEvent<Event>[]) => void) | undefined;
  readonly cacheMax: number;
  /** Whether this process alone owns the service. Left out: every replica does. Messages for a service of another owner go over the bus. */
  readonly isOwner?: (() => boolean) | undefined;
  /** Another process owns the service: the store refused the batch for good. */
  readonly onFenced?: (() => void) | undefined;
};

/** The same for the host, which runs all services alike: the types of a service meet again in its kinds. */
export type AnyService = EngineOptions<{ readonly type: string }, unknown>;

/** The aggregates of one service, which decide in the transactions of their host. */
export type Engine<To extends Addressed> = {
  readonly accept: (routed: Routed<To>, callbacks: Callbacks) => void;
  /** Stores a message that cannot be handled. `stored` is called after the commit. */
  readonly keepDeadLetter: (row: DeadLetterRow, stored: () => void) => void;
  /**
   * The messages that the service takes. Those that services of the same host send are decided in the transaction of their
   * cause.
   */
  readonly receive: (inbound: readonly Inbound<To>[]) => void;
  /** Whether this message was decided in the transaction of its cause. */
  readonly hasDecided: (identity: string) => boolean;
  /** Fires the timers that are due, after the current batch. */
  readonly tick: () => void;
  /** Removes confirmed outbox rows that no batch removed, and publishes rows that a crash or an outage left behind. */
  readonly sweep: (olderThanMs: number) => Promise<number>;
  /** The process takes over from another one: the next tick and the next sweep look into the store. */
  readonly lookAnew: () => void;
  readonly backlog: () => number;
  /** Waits until the bus has confirmed all that was published, so that nothing is published again after a stop. */
  readonly flush: () => Promise<void>;
};

/** The engine of a service that has a host of its own. `idle` resolves when every accepted message is handled. */
export const createEngine = <To extends Addressed, Event extends { readonly type: string }, Work>(
  options: EngineOptions<Event, Work> & HostOptions,
): Engine<To> & { readonly idle: () => Promise<void> } => {
  const host = createHost(options);
  return { ...host.add<To, Event, Work>(options), idle: host.idle };
};
