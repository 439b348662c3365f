import type { ConsumerDeclaration } from '@holdpoint/contracts/bus/streams';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { HEADERS, type HeaderPairs } from '@holdpoint/contracts/bus/cloudevents';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Pool } from 'pg';
import { createLeasePool, createLeases, type Leases } from '../ownership/lease-store.ts';
import { createAnnouncer } from '../bus/announcer.ts';
import { type Endpoints, type OwnEndpoints, queriesOf, serveApi } from '../bus/api.ts';
import { type BusOverview, createBusOverview } from '../bus/bus-overview.ts';
import { closeBus, connectBus, inboxPrefixOf } from '../bus/connection.ts';
import { createDeadLetterActions, type DeadLetterResolver } from '../bus/dead-letter-actions.ts';
import { createLateAcks } from '../bus/late-acks.ts';
import { createListener, type Listener } from '../bus/listener.ts';
import { pollConsumerMetrics, pollStreamMetrics } from '../bus/polled-metrics.ts';
import { createNatsPublisher } from '../bus/publisher.ts';
import { type Source, startSource } from '../bus/source.ts';
import { DISPLACEMENTS } from '../bus/consumer-positions.ts';
import { keepTopology, type TopologyKeeper } from '../bus/keep-topology.ts';
import type { Topology } from '../bus/topology.ts';
import { type AssertWorkConsumers, workConsumersOn } from '../bus/work-consumers.ts';
import type { CommittedEvent } from '../engine/batch.ts';
import { type Bindings, type CorePorts, createCore } from '../engine/core.ts';
import type { Host } from '../host/host.ts';
import type { Engine } from '../engine/engine.ts';
import { errorFields } from '../engine/error-fields.ts';
import type { Addressed, KindsOf } from '../engine/kinds.ts';
import { createSeals, type Seals, type SealVerifier } from '../engine/seals.ts';
import type { Announce } from '../engine/ports.ts';
import { withLogContext } from '../observability/log-context.ts';
import type { Logger } from '../observability/log.ts';
import type { AddGauge, Exposition, Meter } from '../observability/meter.ts';
import { createMetrics, type Metrics } from '../observability/metrics.ts';
import { startPeriodic } from '../observability/periodic.ts';
import { type AddPolledMetrics, createPolledMetrics } from '../observability/polled-metrics.ts';
import type { CommitGuard } from '../store/commit-guard.ts';
import { createDeadLetterStore, purgeDeadLetters } from '../store/dead-letters.ts';
import { pollStoreMetrics } from '../store/polled-metrics.ts';
import { createWatermarkStore, hurryResends } from '../store/bus-watermark.ts';
import { createPool } from '../store/pool.ts';
import { createPurge } from '../store/purge.ts';
import { ownStatements, statementsIn } from '../store/statements.ts';
import { createPostgresStore } from '../store/store.ts';
import type { ListTable } from '../store/write-statement.ts';
import { adminEndpoints, deadLetterEndpoints, migrationsIn } from './admin.ts';
import { databaseSettings, readSecretFile, readSeedFile, type ServiceEnv } from './config.ts';
import type { Check, Web } from './http.ts';
import { createIdentityVerifier, type VerifyIdentity } from './identity.ts';
import { instanceName } from './instance.ts';
import { everyReplica, oneOwner } from './owner.ts';
import type { SealSource } from './seal-key.ts';
import { systemClock } from './system-clock.ts';
import {
  type AskForKeys,
  createTrustedKeys,
  parseTrust,
  TRUST_FILE,
  type TrustedKeys,
} from './trusted-keys.ts';

/** The name of a service, and its settings for connecting. */
export type ServiceIdentity<S extends ServiceName> = {
  readonly service: S;
  /** The folder of its migrations. */
  readonly migrations: string;
  /** Seed file of the bus user that creates streams and consumers. Only one service has it. */
  readonly topologySeedFile?: string | undefined;
  /** The streams and consumers that this user creates. Left out: those of the contracts. */
  readonly topology?: Topology;
  /** Consumers beside those of the contracts that it reads. */
  readonly reads?: readonly ConsumerDeclaration[];
  /** The key that seals its messages. */
  readonly seal: SealSource;
  /** Which of its replicas decide. Left out: one at a time. */
  readonly decides?: 'every replica';
};

/** The open connections of a service, and the adapters of the runtime on them. */
export type Connections = {
  readonly pool: Pool;
  readonly announce: Announce;
  /** The keys of the other services, and of people's identity assertions. */
  readonly keys: TrustedKeys;
  readonly verifyIdentity: VerifyIdentity;
  /** Whether this process decides for the service at this moment. */
  readonly isOwner: () => boolean;
  readonly listener: Listener;
  /** The bus as a whole, for users who may see it. */
  readonly overview: BusOverview;
  /** Does nothing without the bus user that creates consumers. */
  readonly assertWorkConsumers: AssertWorkConsumers;
  readonly meter: Meter;
  readonly gauge: AddGauge;
  /** Metrics that are read from the store or the bus at intervals. */
  readonly poll: AddPolledMetrics;
};

/** A service on its connections: its kinds of aggregates, and its adapters, which get the engine. */
export type ServiceSpec<
  S extends ServiceName,
  To extends Addressed,
  Event extends { readonly type: string },
  Work,
> = {
  readonly kinds: KindsOf<To, Event, Work>;
  /** The table of the rows that its kinds list. */
  readonly list?: ListTable;
  /** Called with each event after its commit, for metrics. */
  readonly onCommitted?: (event: CommittedEvent<Event>) => void;
  /** A condition that must hold in the transaction that commits a batch. */
  readonly commitGuard?: CommitGuard;
  /** States of recently used aggregates that the process keeps. Left out: ten thousand. */
  readonly statesMax?: number;
  /** Where new keys come from. Left out: from the approvals service. */
  readonly askForKeys?: AskForKeys;
  readonly bind: (engine: Engine<To>, resolveDeadLetter: DeadLetterResolver) => ServiceParts<S, To, Work>;
};

/** The adapters of a service, and everything that reaches them. */
export type ServiceParts<S extends ServiceName, To extends Addressed, Work> = Bindings<To, Work> & {
  readonly endpoints: OwnEndpoints<S, To>;
  /** Whether the service can do its work, beside store and bus. */
  readonly check?: Check;
  /** HTTP routes beside health and metrics. */
  readonly web?: Web;
  /** The first step of a stop: no new work begins from now on. */
  readonly drain?: () => void;
  /** Stops the adapters. The engine still accepts messages. */
  readonly stop?: () => Promise<void>;
  /** Ends the work that `perform` has begun, as far as it can be ended. */
  readonly stopWork?: () => Promise<void>;
};

/** A service that a process runs, alone or beside others. */
export type ServiceDefinition = {
  readonly service: ServiceName;
  readonly env: ServiceEnv;
  readonly log: Logger;
  readonly start: (shared: Shared) => Promise<RunningPart>;
};

/** What a service gets of its process. */
export type Shared = {
  readonly host: Host;
  /** The connections on which services share their transactions. Left out: the service has transactions of its own. */
  readonly transactions?: Pool | undefined;
  /** The leases of these services. Left out: the service keeps its own. */
  readonly leases?: Leases | undefined;
  readonly sealVerifier: SealVerifier;
  /** One service of a process shows the metrics of the process. */
  readonly showsProcess: boolean;
};

/** A service that runs. A process stops all of its services step by step. */
export type RunningPart = {
  readonly service: ServiceName;
  readonly checks: readonly Check[];
  readonly exposition: Exposition;
  readonly web: Web | undefined;
  /** No message is taken in from now on. */
  readonly quiet: () => Promise<void>;
  /** Ends the work under way. Its results are still recorded. */
  readonly finish: () => Promise<void>;
  /** Publishes the remaining rows of the outbox, and closes the connections. */
  readonly close: () => Promise<void>;
};

/** Short, so that a service that restarts every minute still purges. */
const PURGE_MS = 30_000;
const STATES_CACHED_MAX = 10_000;
/** Below the time in which a standby takes over from a frozen owner. */
const OWNER_PULL_MS = 1_500;

/** A command that is announced, and so is not in the outbox, has a seal of its own. */
const sealedAlone =
  (seals: Seals) =>
  (subject: string, body: string): HeaderPairs | undefined =>
    subject.startsWith('hp.cmd.')
      ? seals.seal([{ subject, body, headers: [[HEADERS.id, crypto.randomUUID()]] }])[0]?.headers
      : undefined;

type Links = {
  readonly pool: Pool;
  /** Connects when the service keeps a lease of its own. */
  readonly leasePool: Pool;
  readonly connection: NatsConnection;
  readonly topology: NatsConnection | undefined;
};

const connect = async (
  { service, topologySeedFile, reads }: ServiceIdentity<ServiceName>,
  env: ServiceEnv,
  log: Logger,
): Promise<Links> => {
  const seedFrom = (variable: string, path: string | undefined) =>
    path === undefined ? undefined : readSeedFile(variable, path);
  const seed = seedFrom('HOLDPOINT_NATS_SEED_FILE', env.HOLDPOINT_NATS_SEED_FILE);
  const topologySeed = seedFrom('HOLDPOINT_NATS_TOPOLOGY_SEED_FILE', topologySeedFile);
  const bus = { url: env.HOLDPOINT_NATS_URL, seed, user: service };
  const database = { ...databaseSettings(env), schema: service, name: `holdpoint-${service}` };
  const pool = createPool({ ...database, max: env.HOLDPOINT_DATABASE_CONNECTIONS_MAX - 1 }, log);
  const leasePool = createLeasePool(database, log);
  const [connection, topology] = await Promise.all([
    connectBus({ ...bus, reads }, log),
    topologySeed && connectBus({ ...bus, seed: topologySeed, user: 'topology' }, log),
  ]);
  return { pool, leasePool, connection, topology };
};

/** Returns a function that starts the keeper of the topology. */
const keepPositions = (
  connection: NatsConnection,
  topology: Topology | undefined,
  pool: Pool,
  { meter, gauge }: Metrics,
  log: Logger,
  /** The bus may have lost messages: timers that send them again are due soon. */
  hurried: () => void,
): (() => Promise<TopologyKeeper>) => {
  let current: TopologyKeeper | undefined;
  const displaced = meter.counter(
    'consumers_displaced_total',
    'Consumers that were recreated because the bus had lost messages, or may have',
    DISPLACEMENTS.map((reason) => ({ reason })),
  );
  gauge('topology_age_seconds', 'Time since streams and consumers were last checked', [], () =>
    current === undefined ? [] : [{ labels: {}, value: current.ageSeconds() }],
  );
  return async () => {
    const keeper = await keepTopology({
      connection,
      log,
      topology,
      positions: {
        ...createWatermarkStore(pool),
        onLoss: async () => {
          log.warn({ resends: await hurryResends(pool) }, 'bus may have lost messages');
          hurried();
        },
        onDisplaced: (_consumer, _stream, reason) => displaced(1, { reason }),
      },
    });
    current = keeper;
    const stop = (): void => {
      keeper.stop();
      current = undefined;
    };
    return { ...keeper, stop };
  };
};

/** Defines a service: how it connects, builds itself on the connections, and takes in messages. */
export const defineService = <
  S extends ServiceName,
  To extends Addressed,
  Event extends { readonly type: string },
  Work,
>(
  identity: ServiceIdentity<S>,
  build: (
    connections: Connections,
  ) => ServiceSpec<S, To, Event, Work> | Promise<ServiceSpec<S, To, Event, Work>>,
  env: ServiceEnv,
  log: Logger,
): ServiceDefinition => {
  const { service } = identity;

  const start = async (shared: Shared): Promise<RunningPart> => {
    const { host, transactions, leases, sealVerifier, showsProcess } = shared;
    const { pool, leasePool, connection, topology } = await connect(identity, env, log);
    const metrics = createMetrics(service, log, showsProcess);
    const polled = createPolledMetrics(metrics.gauge, metrics.pollFailed, log);
    const startKeeper =
      topology && keepPositions(topology, identity.topology, pool, metrics, log, () => engine.lookAnew());
    const keys = createTrustedKeys({
      trust: parseTrust(readSecretFile(TRUST_FILE, env.HOLDPOINT_TRUST_FILE)),
      path: env.HOLDPOINT_TRUST_FILE,
      clock: systemClock,
      log,
    });
    const verifyIdentity = createIdentityVerifier(keys);
    const seals = createSeals(identity.seal.current, keys, sealVerifier);
    const listener = createListener(connection, service, log, seals.check);
    const owner =
      identity.decides === 'every replica'
        ? everyReplica()
        : oneOwner({
            service,
            leases: leases ?? createLeases(leasePool),
            transactions: transactions ?? pool,
            connection,
            seals,
            consumers: () => intakes.map(({ inbound }) => inbound.consumer),
            log,
          });
    metrics.gauge('owner', '1 while this process decides for the service', [], () => [
      { labels: {}, value: Number(owner.isOwner()) },
    ]);
    let mayPublish = identity.seal.known === undefined;
    const announce = createAnnouncer(connection, sealedAlone(seals));
    const spec = await build({
      pool,
      isOwner: owner.isOwner,
      announce: (subject, body) => mayPublish && announce(subject, body),
      keys,
      verifyIdentity,
      listener,
      overview: createBusOverview(connection, service),
      assertWorkConsumers: workConsumersOn(topology),
      meter: metrics.meter,
      gauge: metrics.gauge,
      poll: polled.add,
    });
    const ports: CorePorts = {
      store: createPostgresStore(transactions ?? pool, {
        guards: [owner.fence, spec.commitGuard].filter((guard) => guard !== undefined),
        statements: transactions === undefined ? ownStatements(spec.list) : statementsIn(service, spec.list),
      }),
      publisher: createNatsPublisher(connection, inboxPrefixOf(service)),
      mayPublish: () => mayPublish,
      host,
      clock: systemClock,
      log,
      seals,
      isOwner: owner.fence && owner.isOwner,
      onFenced: owner.onFenced,
      route: owner.route,
      observer: metrics.observer,
      cacheMax: spec.statesMax ?? STATES_CACHED_MAX,
      withLogContext,
    };
    const { onCommitted } = spec;
    const { engine, bindings, intakes } = createCore(
      { service, kinds: spec.kinds },
      ports,
      (running: Engine<To>) => spec.bind(running, (letter) => resolveDeadLetter(letter)),
      onCommitted && ((events) => events.forEach(onCommitted)),
    );
    const resolveDeadLetter: DeadLetterResolver = createDeadLetterActions({
      service,
      letters: createDeadLetterStore(pool),
      inbound: bindings.inbound,
      engine,
      now: () => Date.now(),
      checkSeal: seals.check,
    });
    keys.learnFrom(spec.askForKeys ?? ((nonce) => listener.ask('approvals', 'keys', { nonce })));
    metrics.showBacklog(() => engine.backlog());
    pollStoreMetrics(pool, polled.add, Date.now);
    pollConsumerMetrics(
      connection,
      intakes.map(({ inbound }) => inbound.consumer),
      polled.add,
    );
    if (topology !== undefined) pollStreamMetrics(topology, polled.add);
    const purge = createPurge(pool);
    const purgeNow = async (): Promise<number> => {
      const purged = await purge.run();
      metrics.purged(purged);
      await purgeDeadLetters(pool);
      return purged;
    };
    const admin = adminEndpoints<S, To>({
      service,
      instance: instanceName(service),
      pool,
      migrations: migrationsIn(identity.migrations),
      purge: purgeNow,
    });
    const endpoints = {
      ...bindings.endpoints,
      ...admin,
      ...deadLetterEndpoints<S, To>(service, pool, resolveDeadLetter, verifyIdentity),
    } as Endpoints<S, To>;
    // An earlier process left these rows. The bus drops duplicates, which another replica of an executor may publish.
    const publishLeft = async (): Promise<void> => {
      engine.lookAnew();
      await engine.sweep(0).catch((error: unknown) => log.warn(errorFields(error), 'the outbox waits'));
    };
    void identity.seal.known?.then(() => {
      mayPublish = true;
      return publishLeft();
    });
    let api: { readonly which: 'all' | 'queries'; readonly stop: () => Promise<void> } | undefined;
    const acks = createLateAcks();
    let sources: readonly Source[] = [];
    let keeper: TopologyKeeper | undefined;
    await owner.start({
      answer: async (which) => {
        const earlier = api;
        if (earlier?.which === which) return;
        const answered = which === 'all' ? endpoints : queriesOf(endpoints);
        api = { which, ...(await serveApi(connection, service, answered, engine, log)) };
        await earlier?.stop();
      },
      begin: async () => {
        keeper ??= await startKeeper?.();
        await publishLeft();
        sources = intakes.map(({ inbound, take }) =>
          startSource(connection, inbound.consumer, take, log, acks, owner.fence && OWNER_PULL_MS),
        );
      },
      end: async () => {
        keeper?.stop();
        keeper = undefined;
        const open = sources;
        sources = [];
        await Promise.all(open.map((source) => source.stop()));
      },
    });
    const purgeIfOwner = async (): Promise<void> => void (owner.isOwner() && (await purgeNow()));
    const purging = startPeriodic('purge', PURGE_MS, purgeIfOwner, log);
    const checks: readonly Check[] = [
      { name: 'postgres', ready: async () => (await pool.query('SELECT 1')).rowCount === 1 },
      { name: 'nats', ready: async () => (await connection.flush(), !connection.isClosed()) },
      {
        name: 'consumers',
        ready: () =>
          Promise.resolve(
            owner.standsBy() || (sources.length > 0 && sources.every((source) => source.open())),
          ),
      },
      ...(startKeeper === undefined
        ? []
        : [
            {
              name: 'topology',
              ready: async () => owner.standsBy() || (await keeper?.check.ready()) === true,
            },
          ]),
      ...(bindings.check === undefined ? [] : [bindings.check]),
    ];

    return {
      service,
      checks,
      exposition: polled.readBefore(metrics.exposition),
      web: bindings.web,
      quiet: async () => {
        bindings.drain?.();
        purge.stop();
        if (owner.fence === undefined) await api?.stop();
        await owner.quiet();
        await bindings.stop?.();
      },
      finish: async () => bindings.stopWork?.(),
      close: async () => {
        await owner.leave();
        await api?.stop();
        await host.idle();
        await purging.stop();
        await polled.idle();
        metrics.stop();
        await keys.stop();
        await identity.seal.stop();
        await engine
          .flush()
          .catch((error: unknown) => log.warn(errorFields(error), 'outbox rows are left for the next start'));
        await closeBus(connection, log);
        if (topology !== undefined) await closeBus(topology, log);
        await Promise.all([pool.end(), leasePool.end()]);
      },
    };
  };
  return { service, env, log, start };
};
