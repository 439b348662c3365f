import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CORE_SERVICES, SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { layout } from '../credentials/layout.ts';
import { natsLoginFile } from '../credentials/read.ts';
import { startFoundation, takeDataDir } from './foundation.ts';
import type { Foundation } from './foundation.ts';
import type { NatsServer } from './nats/nats.ts';
import type { Ports } from './ports.ts';
import type { PostgresServer } from './postgres/postgres.ts';
import { Problem } from './problem.ts';
import { keepRunning } from './process/keep-running.ts';
import { awaitReady, startServiceProcess } from './process/service-processes.ts';
import type { ServiceProcess } from './process/service-processes.ts';
import type { Progress } from './progress.ts';
import type { Running } from './running.ts';
import { createUndo } from './undo.ts';

const READY_WITHIN_MS = 60_000;

export type StackOptions = {
  /** The repository. */
  readonly root: string;
  readonly dataDir: string;
  readonly progress: Progress;
  /** Ports to use if they are free; random ones otherwise. */
  readonly ports?: Partial<Ports>;
  /** Which services to start; all by default. */
  readonly services?: readonly ServiceName[];
  /** `core`: one process runs orchestrator, approvals and recovery. `apart`: each service has a process of its own. */
  readonly form?: Form;
  /** More environment variables for a service. */
  readonly env?: Partial<Record<ServiceName, Readonly<Record<string, string>>>>;
  /** An external NATS server with the users of Holdpoint. */
  readonly natsUrl?: string | undefined;
  readonly workspace?: string;
  /** Folders whose repositories tasks may work in, separated as in PATH; one in the workspace by default. */
  readonly repositories?: string | undefined;
  /** Starts PostgreSQL and NATS again when they end unasked, as it always does with the services. */
  readonly keepServers?: boolean;
  /** Prefers little memory over throughput. */
  readonly isSmall?: boolean;
};

/** How services are spread over processes. */
export type Form = 'core' | 'apart';

/** The processes of the services, by name. */
export const processesOf = (
  wanted: readonly ServiceName[],
  form: Form,
): readonly { readonly name: string; readonly services: readonly ServiceName[] }[] => {
  const alone = (names: readonly ServiceName[]) => names.map((name) => ({ name, services: [name] }));
  const core: readonly ServiceName[] = CORE_SERVICES;
  if (form === 'apart' || !core.every((name) => wanted.includes(name))) return alone(wanted);
  return [{ name: 'core', services: core }, ...alone(wanted.filter((name) => !core.includes(name)))];
};

export type RunningStack = {
  readonly ports: Ports;
  readonly natsUrl: string;
  /** Absent for an external server. */
  readonly nats: NatsServer | undefined;
  readonly postgres: PostgresServer;
  readonly services: Readonly<Partial<Record<ServiceName, ServiceProcess>>>;
  readonly credentialsDir: string;
  readonly workspace: string;
  readonly description: Partial<Running>;
};

export type Stack = {
  readonly start: () => Promise<RunningStack>;
  /** Ends everything in order, also while it is starting. May be called twice, and before `start`. */
  readonly stop: () => Promise<void>;
};

/** PostgreSQL, NATS and the services, in one data folder: what `npm start`, the demo, the tests and the bench run. */
export const createStack = (options: StackOptions): Stack => {
  const { root, progress } = options;
  const dataDir = resolve(options.dataDir);
  const workspace = options.workspace ?? join(dataDir, 'workspace');
  const [journal, state] = [join(dataDir, 'journal'), join(dataDir, 'state')];
  const ownRepositories = join(workspace, 'repositories');
  const repositories = options.repositories ?? ownRepositories;
  const undo = createUndo();
  let starting: Promise<RunningStack> | undefined;
  let stopping: Promise<void> | undefined;

  const leave = new AbortController();

  const startServices = async (foundation: Foundation): Promise<readonly ServiceProcess[]> => {
    const { natsUrl, database, credentialsDir, ports, logFile, registry } = foundation;
    const context = {
      root,
      natsUrl,
      database,
      credentialsDir,
      workspace,
      journal,
      state,
      repositories,
      hidden: [dataDir],
    };
    const started: ServiceProcess[] = [];
    // They stop together: each depends only on the two servers.
    undo.add(() => Promise.all(started.map((service) => service.stop())));
    for (const { name, services: own } of processesOf(options.services ?? SERVICES, options.form ?? 'core'))
      started.push(
        await startServiceProcess({
          name,
          services: own,
          // The console of approvals is the page that people open.
          context: {
            ...context,
            httpPort: ports[own.find((each) => each === 'approvals') ?? own[0] ?? 'executor'],
          },
          folder: dataDir,
          inherited: process.env,
          env: Object.assign({}, ...own.map((each) => options.env?.[each] ?? {})) as Record<string, string>,
          logFile: logFile(name),
          registry,
          isSmall: options.isSmall ?? false,
          say: progress.say,
        }),
      );
    const patience = { timeoutMs: READY_WITHIN_MS, stopping: () => leave.signal.aborted };
    await progress.step('starting the services', () =>
      Promise.all(started.map((service) => awaitReady(service, patience))),
    );
    return started;
  };

  const keepServers = ({ nats, postgres, registerNats }: Foundation): void => {
    const { say } = progress;
    undo.add(keepRunning('PostgreSQL', postgres, { say, onStart: registerNats }).stop);
    if (nats !== undefined) undo.add(keepRunning('NATS', nats, { say, onStart: registerNats }).stop);
  };

  const describe = (
    { natsUrl, nats, credentialsDir, database }: Foundation,
    started: readonly ServiceProcess[],
  ): Partial<Running> => ({
    natsUrl,
    ...(nats !== undefined && { natsServer: nats.origin }),
    natsSeedFile: natsLoginFile(credentialsDir, 'operator'),
    tokenFile: layout(credentialsDir).operatorToken,
    database: `postgres://${database.host}:${database.port}/${database.name}`,
    services: Object.fromEntries(started.flatMap((each) => each.services.map((name) => [name, each.url]))),
    workspace,
    logs: join(dataDir, 'logs'),
    credentials: credentialsDir,
  });

  const run = async (): Promise<RunningStack> => {
    const home = { dataDir, progress, undo };
    const claim = await takeDataDir(home);
    await mkdir(ownRepositories, { recursive: true });
    const { ports, natsUrl, isSmall } = options;
    const foundation = await startFoundation({
      ...home,
      root,
      ports,
      natsUrl,
      isSmall,
      signal: leave.signal,
    });
    const started = await startServices(foundation);
    leave.signal.throwIfAborted();
    if (options.keepServers === true) keepServers(foundation);
    const description = describe(foundation, started);
    await claim.publish(description);
    const byName = Object.fromEntries(started.flatMap((each) => each.services.map((name) => [name, each])));
    return { ...foundation, services: byName, workspace, description };
  };

  const unwind = async (): Promise<void> => {
    leave.abort(new Problem('stopped while it was starting'));
    await starting?.catch(() => undefined);
    await undo.run();
  };
  const stop = () => (stopping ??= unwind());

  const start = async (): Promise<RunningStack> => {
    starting ??= run();
    try {
      return await starting;
    } catch (error) {
      await stop();
      throw error;
    }
  };
  return { start, stop };
};
