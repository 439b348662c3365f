import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { CommittedEvent } from './batch.ts';
import type { Clock } from './clock.ts';
import type { CoreLog } from './core-log.ts';
import type { Engine, EngineOptions } from './engine.ts';
import type { Host } from '../host/host.ts';
import type { Routed } from './inbound.ts';
import { createIntake, type Delivery, type Inbound } from './intake.ts';
import type { Addressed, KindsOf } from './kinds.ts';
import type { CheckSeal, Seals } from './seals.ts';
import { traceFields } from './telemetry.ts';

/** Hands the engine a message that comes from the service itself. */
export type Accept<To extends Addressed> = (routed: Routed<To>) => void;

/** How messages reach a service, and how the work of its decisions is done. */
export type Bindings<To extends Addressed, Work> = {
  readonly inbound: readonly Inbound<To>[];
  /** Does the work of a decision after its commit. Results are handed back as messages. */
  readonly perform?: (
    work: Work,
    accept: Accept<To>,
    /** The trace and the task of the decision. */
    trace?: string,
    task?: string,
  ) => void;
};

/** The aggregates of a service. */
export type ServiceKinds<To extends Addressed, Event extends { readonly type: string }, Work = never> = {
  readonly service: ServiceName;
  readonly kinds: KindsOf<To, Event, Work>;
};

/** A service without its infrastructure: its kinds of aggregates, its messages and its work. */
export type ServiceLogic<
  To extends Addressed,
  Event extends { readonly type: string },
  Work = never,
> = ServiceKinds<To, Event, Work> & Bindings<To, Work>;

/** The infrastructure of a service, as the core needs it. */
export type CorePorts = Pick<
  EngineOptions<never, never>,
  'store' | 'publisher' | 'mayPublish' | 'observer' | 'cacheMax' | 'isOwner' | 'onFenced'
> & {
  /** Runs the service together with the others of its process. */
  readonly host: Host;
  readonly clock: Clock;
  readonly log: CoreLog;
  readonly seals: Seals;
  /** Lets the owner of the service decide what this process wants decided. Left out: this process decides it. */
  readonly route?: <To extends Addressed>(accept: Engine<To>['accept']) => Engine<To>['accept'];
  /** Runs a step so that its log lines carry this context. Left out: they carry none. */
  readonly withLogContext?: (context: LogContext, step: () => void) => void;
};

/** The trace and the task that a log line belongs to. */
export type LogContext = { readonly trace_id?: string; readonly task?: string };

export type Core<To extends Addressed, B = unknown> = {
  readonly engine: Engine<To>;
  readonly bindings: B;
  /** One for each consumer of the service. */
  readonly intakes: readonly {
    readonly inbound: Inbound<To>;
    readonly take: (delivery: Delivery) => void;
  }[];
};

/** A snapshot after every so many events. It only shortens loading. */
export const snapshotEvery =
  (every: number) =>
  (_state: unknown, version: number, events: readonly unknown[]): boolean =>
    Math.floor(version / every) > Math.floor((version - events.length) / every);

/** Histories are far shorter than this unless a task loops. */
export const SNAPSHOT_EVERY = 1_000;

const LOCAL_RETRY_MS = 1_000;

/**
 * A service on given ports: NATS and PostgreSQL in `service.ts`, memory in the simulator. `bind` gets the engine, so that
 * adapters can be built on it.
 */
export const createCore = <
  To extends Addressed,
  Event extends { readonly type: string },
  Work,
  B extends Bindings<To, Work>,
>(
  { service, kinds }: ServiceKinds<To, Event, Work>,
  {
    host,
    clock,
    log,
    seals,
    publisher,
    route = (accept) => accept,
    withLogContext = (_context, step) => step(),
    ...ports
  }: CorePorts,
  bind: (engine: Engine<To>) => B,
  onCommitted?: (events: readonly CommittedEvent<Event>[]) => void,
): Core<To, B> => {
  /** A message of the service to itself, such as the result of its work. It is offered again until the store takes it. */
  const acceptLocal = (routed: Routed<To>, cause: string | undefined): void => {
    const trace = routed.trace ?? cause;
    const { aggregate, onDone } = routed;
    const accept = (): void =>
      engine.accept(
        { ...routed, trace },
        {
          committed: () => onDone?.(),
          failed: (reason) => {
            onDone?.();
            log.error(
              { ...traceFields(trace), aggregate, code: reason.code },
              'result could not be recorded',
            );
          },
          unavailable: () => void clock.after(LOCAL_RETRY_MS, accept),
        },
      );
    accept();
  };

  /** A result may come hours later. Its callback must not keep the work in memory. */
  const acceptLater =
    (trace: string | undefined) =>
    (routed: Routed<To>): void =>
      acceptLocal(routed, trace);

  const own = host.add<To, Event, Work>({
    ...ports,
    // At each publish, so that messages of an earlier process get a seal of a present key.
    publisher: { publish: (messages) => publisher.publish(seals.seal(messages)) },
    service,
    kinds,
    onCommitted,
    perform: (work, trace, task) => {
      const accept = acceptLater(trace);
      withLogContext({ ...traceFields(trace), ...(task !== undefined && { task }) }, () =>
        bindings.perform?.(work, accept, trace, task),
      );
    },
  });
  const engine: Engine<To> = { ...own, accept: route<To>(own.accept) };
  const checkSeal: CheckSeal = (message) => {
    const finding = seals.check(message);
    if ('error' in finding) ports.observer.sealRefused?.(finding.error.code);
    return finding;
  };
  const bindings = bind(engine);
  engine.receive(bindings.inbound);
  return {
    engine,
    bindings,
    intakes: bindings.inbound.map((each) => ({
      inbound: each,
      take: createIntake(each, own, log, checkSeal),
    })),
  };
};
