import { effectClassOf } from '@holdpoint/contracts/effect/capabilities';
import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { type ServiceName, SERVICES } from '@holdpoint/contracts/bus/subjects';
import { deadLetterIdOf, type StoredDeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import type { BatchWrite, WireMessage } from '@holdpoint/runtime/engine/ports';
import { type Away, createAway } from './faults/target-outages.ts';
import { type Books, createBooks } from './event-states.ts';
import { type Bus, createBus } from './outside/bus.ts';
import { type Choices, createChoices } from './choices.ts';
import { createDatabase, type Database } from './outside/database.ts';
import { createChecker, type Checker } from './checker.ts';
import type { Poison } from './faults/poison.ts';
import { createHandOnBus, type SimulatedHandOns } from './outside/hand-ons.ts';
import { createSealBook, type SealBook } from './outside/seals.ts';
import type { Received } from './outside/receiver.ts';
import type { Shown } from './outside/surface.ts';
import { type Application, createTarget, type Target } from './outside/target.ts';
import { createTimeline, type Timeline } from './timeline.ts';
import type { Askers } from './users/identities.ts';
import { createTrace, type Trace } from './trace.ts';
import { remoteClassOf } from './workload/held-effects.ts';
import { createWeather, type Weather, type WeatherSettings } from './faults/fault-rates.ts';

export type WorldSettings = WeatherSettings & { readonly seed: number; readonly traced: boolean };

/** Listeners that run right when something happens. */
export type Watchers = {
  readonly committed: ((service: ServiceName, write: BatchWrite, now: number) => void)[];
  readonly published: ((wire: WireMessage) => void)[];
  readonly applied: ((application: Application) => void)[];
  readonly worked: ((work: Application) => void)[];
  /** A new dead letter, and its key, which follows from its message. */
  readonly lettered: ((letter: StoredDeadLetter, key: string) => void)[];
};

/** By effect and epoch: the outcome that the executor saw. */
export type Reports = Map<string, string>;

/** Everything outside the services, with one clock and one seed. */
export type World = {
  readonly reports: Reports;
  readonly shown: Shown;
  readonly received: Received;
  readonly timeline: Timeline;
  readonly choices: Choices;
  readonly weather: Weather;
  readonly trace: Trace;
  readonly checker: Checker;
  readonly books: Books;
  readonly databases: Readonly<Record<ServiceName, Database>>;
  readonly bus: Bus;
  /** Between the replicas of a service. */
  readonly handOns: SimulatedHandOns;
  /** The keys with which services seal their messages. */
  readonly seals: SealBook;
  readonly target: Target;
  readonly away: Away;
  /** Effects that kill the executor which runs them. */
  readonly deadly: Set<string>;
  /** Whether the built-in rule for rollbacks in worktrees is on. */
  readonly rollbackRule: boolean;
  readonly watchers: Watchers;
  readonly poison: Poison;
  readonly askers: Askers;
  /** The keys of committed dead letters. */
  readonly kept: Set<string>;
};

const APPLY_ONCE: ReadonlySet<string | undefined> = new Set(['keyed', 'fenced']);

export const createWorld = ({ seed, traced, ...settings }: WorldSettings): World => {
  const timeline = createTimeline();
  const choices = createChoices(seed);
  const trace = createTrace(timeline.now, traced);
  const weather = createWeather(choices, timeline, trace, settings);
  const checker = createChecker();
  const watchers: Watchers = { committed: [], published: [], applied: [], worked: [], lettered: [] };
  const kept = new Set<string>();
  const database = (service: ServiceName): Database =>
    createDatabase(service, timeline, weather, (write, now, byOwner) => {
      checker.expect('only the owner of a service commits', byOwner, '', () => service);
      for (const { id, letter, body } of write.deadLetters ?? []) {
        if (kept.has(id)) continue;
        kept.add(id);
        const place = databases[service].tables.deadLetters.findIndex((row) => row.id === id) + 1;
        const stored = { ...letter, body: new TextDecoder().decode(body) };
        for (const heard of watchers.lettered)
          heard({ id: deadLetterIdOf(service, place), service, letter: stored }, id);
      }
      for (const heard of watchers.committed) heard(service, write, now);
    });
  const databases = Object.fromEntries(SERVICES.map((service) => [service, database(service)])) as Record<
    ServiceName,
    Database
  >;
  return {
    timeline,
    choices,
    weather,
    trace,
    watchers,
    reports: new Map(),
    poison: new Map(),
    askers: new Map(),
    kept,
    shown: new Map(),
    received: new Map(),
    checker,
    handOns: createHandOnBus(timeline, weather),
    away: createAway(timeline),
    deadly: new Set(),
    rollbackRule: choices.happens('the rule for rollbacks is on', 0.7),
    books: createBooks(),
    databases,
    seals: createSealBook(),
    bus: createBus(timeline, weather, choices, (wire) => {
      for (const heard of watchers.published) heard(wire);
    }),
    target: createTarget(timeline, weather, choices, {
      appliesOnce: (uses) => APPLY_ONCE.has(remoteClassOf(uses) ?? effectClassOf(uses, 'write_external')),
      applied: (application) => {
        for (const heard of watchers.applied) heard(application);
      },
      worked: (work) => {
        for (const heard of watchers.worked) heard(work);
      },
    }),
  };
};

export const messageIdOf = (wire: WireMessage): string =>
  wire.headers.find(([name]) => name === HEADERS.messageId)?.[1] ?? '';
