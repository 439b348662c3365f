import { artifactBucket } from '@holdpoint/contracts/bus/streams';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { Pool } from 'pg';
import { withAbout } from '../observability/log-context.ts';
import { careEndpoints, migrationsIn } from './admin.ts';
import { instanceName } from './instance.ts';
import { systemClock } from './system-clock.ts';
import { readSecretFile, readSeedFile, type ServiceEnv } from './config.ts';
import { type CorePorts, createCore, type ServiceLogic } from '../engine/core.ts';
import type { Told } from '../engine/batch.ts';
import type { Engine } from '../engine/engine.ts';
import { crashHook } from './crash.ts';
import { type Check, serveHttp, type Web } from './http.ts';
import { errorFields } from '../engine/error-fields.ts';
import type { Logger } from '../observability/log.ts';
import type { AddGauge, Meter } from '../observability/meter.ts';
import { createMetrics } from '../observability/metrics.ts';
import { createAnnouncer } from '../bus/announcer.ts';
import { type Endpoints, type OwnEndpoints, serveApi } from '../bus/api.ts';
import { connectBus, inboxPrefixOf } from '../bus/connection.ts';
import { type BusLook, createBusLook } from '../bus/bus-overview.ts';
import { sampleConsumers, sampleStreams } from '../bus/polled-metrics.ts';
import { createLetters } from '../bus/dead-letters.ts';
import { createListener, type Listener } from '../bus/listener.ts';
import { createSettling, type Settle } from '../bus/dead-letter-actions.ts';
import { createObjectStore, type ObjectStore } from '../bus/object-store.ts';
import { createNatsPublisher } from '../bus/publisher.ts';
import { startSource } from '../bus/source.ts';
import { keepTopology, type Topology } from '../bus/topology.ts';
import { startPeriodic } from '../observability/periodic.ts';
import type { Condition } from '../store/commit-guard.ts';
import { sampleStore } from '../store/polled-metrics.ts';
import { createPool } from '../store/pool.ts';
import { createRetirement } from '../store/purge.ts';
import { createPostgresStore } from '../store/store.ts';
import type { Announce } from '../engine/ports.ts';
import { type AddSample, createSamples } from '../observability/polled-metrics.ts';

/** A service, as its `service.ts` describes it to the runtime. */
export type ServiceSpec<
  S extends ServiceName,
  State,
  Message,
  Event extends { readonly type: string },
  Work,
> = {
  readonly service: S;
  readonly logic: ServiceLogic<State, Message, Event, Work>;
  /** Counts what is committed: is given the instruments once, and then each event after its commit. */
  readonly figures?: (meter: Meter) => (told: Told<Event>) => void;
  readonly endpoints: (pool: Pool, engine: Engine<Message>) => OwnEndpoints<S, Message>;
  /** The folder of its migrations. */
  readonly migrations: string;
  /** What has to hold in the transaction that commits a batch. */
  readonly condition?: Condition;
  /** What the service keeps in order beside its messages, on the same store. */
  readonly attend?: (
    pool: Pool,
    engine: Engine<Message>,
    announce: Announce,
    artifacts: ObjectStore,
    surroundings: Surroundings,
  ) => Attendance;
  /** Ends what the logic's `perform` has begun, as far as it can be ended. */
  readonly stopWork?: () => Promise<void>;
  /** Seed file of the bus user that creates streams and consumers; only one service has it. */
  readonly topologySeedFile?: string | undefined;
  /** What that user creates. Those of the contracts, when left out. */
  readonly topology?: Topology;
};

/** What a service hears, looks at and shows beside its messages. */
export type Surroundings = {
  readonly listener: Listener;
  readonly gauge: AddGauge;
  /** Figures that have to be asked for. */
  readonly sample: AddSample;
  /** The bus as a whole, for who may look at it. */
  readonly look: BusLook;
  /** Handles a dead letter of this service once more, or drops it. */
  readonly settle: Settle;
};

/** Its check says whether the service can do what it is there for; `web` is what it answers over HTTP beside its health. */
export type Attendance = {
  readonly check?: Check;
  readonly stop: () => Promise<void>;
  readonly web?: Web;
};

export type RunningService = { readonly httpPort: number; readonly stop: () => Promise<void> };

/** How often due timers are looked for: the precision of every deadline in the system. */
const TICK_MS = 200;
const SWEEP_MS = 1_000;
/** Nobody waits for it; but a service that ends and starts every minute has to come to it as well. */
const RETIRE_MS = 30_000;
/** A row this old was left behind by a crash or by a bus that did not confirm. */
const OUTBOX_STALE_MS = 5_000;
const STATES_CACHED_MAX = 10_000;
/** To the database, of one process. */
export const CONNECTIONS_MAX = 8;

/** Starts a service on NATS and PostgreSQL. `stop` finishes the batch in hand, publishes, acknowledges and drains. */
export const startService = async <
  S extends ServiceName,
  State,
  Message,
  Event extends { readonly type: string },
  Work,
>(
  spec: ServiceSpec<S, State, Message, Event, Work>,
  env: ServiceEnv,
  log: Logger,
): Promise<RunningService> => {
  const user = spec.service;
  const seedFrom = (variable: string, path: string | undefined): Uint8Array | undefined =>
    path === undefined ? undefined : readSeedFile(variable, path);
  const seed = seedFrom('HOLDPOINT_NATS_SEED_FILE', env.HOLDPOINT_NATS_SEED_FILE);
  const topologySeed = seedFrom('HOLDPOINT_NATS_TOPOLOGY_SEED_FILE', spec.topologySeedFile);
  const bus = { url: env.HOLDPOINT_NATS_URL, seed, user };
  const passwordFile = env.HOLDPOINT_DATABASE_PASSWORD_FILE;
  const pool = createPool(
    {
      url: env.HOLDPOINT_DATABASE_URL,
      password: passwordFile && readSecretFile('HOLDPOINT_DATABASE_PASSWORD_FILE', passwordFile),
      schema: spec.service,
      name: `holdpoint-${spec.service}`,
      max: CONNECTIONS_MAX,
    },
    log,
  );
  const connection = await connectBus(bus, log);
  const topology =
    topologySeed === undefined
      ? undefined
      : await connectBus({ ...bus, seed: topologySeed, user: 'topology' }, log);
  const keeper = topology && (await keepTopology(topology, log, spec.topology));

  const metrics = createMetrics(spec.service, log, () => engine.backlog());
  const samples = createSamples(metrics.gauge, metrics.sampleFailed, log);
  const count = spec.figures?.(metrics.meter);
  const ports: CorePorts = {
    store: createPostgresStore(pool, spec.condition),
    publisher: createNatsPublisher(connection, inboxPrefixOf(user)),
    clock: systemClock,
    log,
    observer: metrics.observer,
    crash: crashHook(env.HOLDPOINT_CRASH),
    turn: () => new Promise((resolve) => setImmediate(resolve)),
    batchMax: env.HOLDPOINT_BATCH_MAX,
    cacheMax: STATES_CACHED_MAX,
    within: withAbout,
  };
  const { engine, intakes } = createCore(spec.logic, ports, (told) => {
    if (count !== undefined) for (const each of told) count(each);
  });

  const settle = createSettling({
    service: spec.service,
    letters: createLetters(connection),
    inbound: spec.logic.inbound,
    engine,
    now: () => Date.now(),
  });
  const attendance = spec.attend?.(
    pool,
    engine,
    createAnnouncer(connection),
    createObjectStore(connection, artifactBucket),
    {
      listener: createListener(connection, user, log),
      gauge: metrics.gauge,
      sample: samples.sample,
      look: createBusLook(connection, user),
      settle,
    },
  );
  const sources = intakes.map(({ inbound, take }) => startSource(connection, inbound.consumer, take, log));
  sampleStore(pool, samples.sample, Date.now);
  const own = intakes.map(({ inbound }) => inbound.consumer);
  sampleConsumers(connection, own, samples.sample);
  if (topology !== undefined) sampleStreams(topology, samples.sample);
  const firstLook = samples.look();
  const retirement = createRetirement(pool);
  const care = careEndpoints<S, Message>({
    service: spec.service,
    instance: instanceName(spec.service),
    pool,
    migrations: migrationsIn(spec.migrations),
    retire: async () => {
      const retired = await retirement.run();
      metrics.retired(retired);
      return retired;
    },
  });
  const endpoints = {
    ...spec.endpoints(pool, engine),
    ...care,
    dead_letter: { query: settle },
  } as Endpoints<S, Message>;
  const api = await serveApi(connection, spec.service, endpoints, engine, log);
  const jobs = [
    startPeriodic('timers', TICK_MS, () => engine.tick(), log),
    startPeriodic('outbox', SWEEP_MS, () => engine.sweep(OUTBOX_STALE_MS), log),
    startPeriodic('retention', RETIRE_MS, async () => metrics.retired(await retirement.run()), log),
  ];
  const checks: readonly Check[] = [
    { name: 'postgres', ready: async () => (await pool.query('SELECT 1')).rowCount === 1 },
    { name: 'nats', ready: async () => (await connection.flush(), !connection.isClosed()) },
    { name: 'consumers', ready: () => Promise.resolve(sources.every((source) => source.open())) },
    ...(attendance?.check === undefined ? [] : [attendance.check]),
  ];
  const http = await serveHttp(
    { host: env.HOLDPOINT_HTTP_HOST, port: env.HOLDPOINT_HTTP_PORT },
    checks,
    metrics.exposition,
    attendance?.web,
  );
  log.info({ httpPort: http.port }, 'service started');

  const stopAll = async (): Promise<void> => {
    keeper?.stop();
    retirement.stop();
    await api.stop();
    await Promise.all(sources.map((source) => source.stop()));
    await attendance?.stop();
    await engine.idle();
    await spec.stopWork?.();
    await engine.idle();
    await firstLook;
    await Promise.all([...jobs, samples].map((job) => job.stop()));
    metrics.stop();
    await engine
      .flush()
      .catch((error: unknown) => log.warn(errorFields(error), 'outbox rows are left for the next start'));
    await connection.drain();
    await topology?.drain();
    await http.stop();
    await pool.end();
    log.info({}, 'service stopped');
  };
  let stopping: Promise<void> | undefined;
  return { httpPort: http.port, stop: () => (stopping ??= stopAll()) };
};
