import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { AggregateKind, Told } from './batch.ts';
import type { Clock } from './clock.ts';
import type { TimerFired } from '../decider.ts';
import { createEngine, type Engine, type EngineOptions, type Item } from './engine.ts';
import type { Routed } from './inbound.ts';
import { createIntake, type Delivery, type Inbound } from './intake.ts';
import type { CoreLog } from './core-log.ts';
import { traceFields } from './telemetry.ts';

/** What a service is, apart from the machines that it runs on: its aggregate, its messages, its work. */
export type ServiceLogic<State, Message, Event extends { readonly type: string }, Work> = {
  readonly kind: AggregateKind<State, Message | TimerFired, Event, Work> & { readonly service: ServiceName };
  readonly inbound: readonly Inbound<Message>[];
  /** Carries out what a decision asks for; what comes of it is handed back as a message. */
  readonly perform?: (
    work: Work,
    accept: (routed: Routed<Message>) => void,
    /** Of the decision that asks for it, and the task that it is about. */
    trace?: string,
    task?: string,
  ) => void;
};

/** The world as a service sees it. */
export type CorePorts = Pick<
  EngineOptions<never, never, never, never>,
  'store' | 'publisher' | 'observer' | 'crash' | 'turn' | 'batchMax' | 'cacheMax'
> & {
  readonly clock: Clock;
  readonly log: CoreLog;
  /** Does work so that what it logs says what it is about. Without it the lines say nothing of that. */
  readonly within?: (about: About, step: () => void) => void;
};

/** A trace and a task, as log lines name them. */
export type About = { readonly trace_id?: string; readonly task?: string };

export type Core<Message> = {
  readonly engine: Engine<Message>;
  /** One for each of the service's consumers. */
  readonly intakes: readonly {
    readonly inbound: Inbound<Message>;
    readonly take: (delivery: Delivery) => void;
  }[];
};

/** A snapshot each time that so many events have come: it only shortens loading. */
export const snapshotEvery =
  (every: number) =>
  (_state: unknown, version: number, events: readonly unknown[]): boolean =>
    Math.floor(version / every) > Math.floor((version - events.length) / every);

/** Histories are far shorter than this unless something loops. */
export const SNAPSHOT_EVERY = 1_000;

const LOCAL_RETRY_MS = 1_000;

/** A service on whatever ports it is given: NATS and PostgreSQL in `service.ts`, memory in the simulator. */
export const createCore = <State, Message, Event extends { readonly type: string }, Work>(
  { kind, inbound, perform }: ServiceLogic<State, Message, Event, Work>,
  { clock, log, within = (_about, step) => step(), ...ports }: CorePorts,
  tell?: (told: readonly Told<Event>[]) => void,
): Core<Message> => {
  /** A message that the service gives itself: what came of its work. It is offered again until the store takes it. */
  const acceptLocal = (
    { aggregate, message, released, ...routed }: Routed<Message>,
    cause: string | undefined,
  ): void => {
    const trace = routed.trace ?? cause;
    const item: Item<Message> = {
      aggregate,
      message,
      trace,
      settled: () => released?.(),
      failed: (reason) => {
        released?.();
        log.error({ ...traceFields(trace), aggregate, code: reason.code }, 'outcome could not be recorded');
      },
      unavailable: () => void clock.after(LOCAL_RETRY_MS, () => engine.accept(item)),
    };
    engine.accept(item);
  };

  const engine = createEngine<State, Message, Event, Work>({
    ...ports,
    kind,
    now: () => clock.now(),
    tell,
    perform: (work, trace, task) =>
      within({ ...traceFields(trace), ...(task !== undefined && { task }) }, () =>
        perform?.(work, (routed) => acceptLocal(routed, trace), trace, task),
      ),
  });
  return {
    engine,
    intakes: inbound.map((each) => ({ inbound: each, take: createIntake(each, engine, log) })),
  };
};
