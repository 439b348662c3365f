import { CORE_SERVICES } from '@holdpoint/contracts/bus/subjects';
import { createSealVerifier } from '../engine/seals.ts';
import { createHost, type Host } from '../host/host.ts';
import type { Logger } from '../observability/log.ts';
import { createLeasePool, createLeases } from '../ownership/lease-store.ts';
import { startPeriodic } from '../observability/periodic.ts';
import { mergeExpositions } from '../observability/merge-expositions.ts';
import { createPool } from '../store/pool.ts';
import { databaseSettings, type ServiceEnv } from './config.ts';
import { crashHook } from './crash.ts';
import { type Check, serveHttp } from './http.ts';
import type { RunningPart, ServiceDefinition } from './service.ts';
import { systemClock } from './system-clock.ts';

export type RunningServices = { readonly httpPort: number; readonly stop: () => Promise<void> };

/** Database connections for the transactions of a core: one decides, one commits, one sweeps, one may be lost. */
const CORE_CONNECTIONS_MAX = 4;

/** In a core one transaction decides while another one commits. */
const CORE_OVERLAP_MAX = 2;

/** The interval of the look for due timers: the precision of every deadline in the system. */
const TICK_MS = 200;
const SWEEP_MS = 1_000;
/** An outbox row of this age was left by a crash, or by a bus that did not confirm. */
const OUTBOX_STALE_MS = 5_000;

const createHostOf = (env: ServiceEnv, overlapMax = 1): Host =>
  createHost({
    clock: systemClock,
    crash: crashHook(env.HOLDPOINT_TEST_CRASH_POINT),
    yieldToEventLoop: () => new Promise((resolve) => setImmediate(resolve)),
    batchMax: env.HOLDPOINT_BATCH_MAX,
    gatherMs: env.HOLDPOINT_TEST_GATHER_MS,
    overlapMax,
  });

/** What the services of a core share. Every statement on its connections names its schema. */
const createSharing = (env: ServiceEnv, log: Logger) => {
  const database = { ...databaseSettings(env), schema: 'pg_catalog', name: 'holdpoint-core' };
  const transactions = createPool({ ...database, max: CORE_CONNECTIONS_MAX, isKeyed: true }, log);
  const leasePool = createLeasePool(database, log);
  return {
    host: createHostOf(env, CORE_OVERLAP_MAX),
    transactions,
    leases: createLeases(leasePool),
    end: (): Promise<unknown> => Promise.all([transactions.end(), leasePool.end()]),
  };
};

const named = ({ service, checks }: RunningPart, several: boolean): readonly Check[] =>
  checks.map(({ name, ready }) => ({ name: several ? `${service} ${name}` : name, ready }));

/**
 * Starts services in this process, on NATS and PostgreSQL. `core`: the settings with which the services of the core share their
 * transactions. `stop` finishes the current batch, publishes, acknowledges and drains.
 */
export const startServices = async (
  definitions: readonly ServiceDefinition[],
  core?: ServiceEnv,
): Promise<RunningServices> => {
  const [main] = definitions;
  if (main === undefined) throw new Error('a process needs a service');
  const { env, log } = main;
  const sharing = core && createSharing(core, log);
  const sealVerifier = createSealVerifier();
  const hosts: Host[] = sharing === undefined ? [] : [sharing.host];
  const parts: readonly RunningPart[] = await Promise.all(
    definitions.map((definition) => {
      const joins = sharing !== undefined && CORE_SERVICES.some((each) => each === definition.service);
      const shared = joins ? sharing : { host: createHostOf(definition.env) };
      if (!joins) hosts.push(shared.host);
      return definition.start({ ...shared, sealVerifier, showsProcess: definition === main });
    }),
  );
  const webs = parts.flatMap(({ web }) => web ?? []);
  const http = await serveHttp(
    {
      host: env.HOLDPOINT_HTTP_HOST,
      port: env.HOLDPOINT_HTTP_PORT,
      metricsPort: env.HOLDPOINT_METRICS_PORT,
    },
    parts.flatMap((part) => named(part, parts.length > 1)),
    mergeExpositions(parts.map(({ exposition }) => exposition)),
    webs[0],
  );
  const jobs = hosts.flatMap((host) => [
    startPeriodic('timers', TICK_MS, host.tick, log),
    startPeriodic('outbox', SWEEP_MS, () => host.sweep(OUTBOX_STALE_MS), log),
  ]);
  for (const definition of definitions) definition.log.info({ httpPort: http.port }, 'service started');

  const idle = (): Promise<unknown> => Promise.all(hosts.map((host) => host.idle()));
  const stopAll = async (): Promise<void> => {
    await Promise.all(parts.map((part) => part.quiet()));
    await idle();
    await Promise.all(parts.map((part) => part.finish()));
    await idle();
    await Promise.all(jobs.map((job) => job.stop()));
    await Promise.all(parts.map((part) => part.close()));
    await http.stop();
    await sharing?.end();
    for (const definition of definitions) definition.log.info({}, 'service stopped');
  };
  let stopping: Promise<void> | undefined;
  return { httpPort: http.port, stop: () => (stopping ??= stopAll()) };
};
