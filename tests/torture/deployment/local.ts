import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { generateCredentials, tokenDigest } from '@holdpoint/infra/credentials/generate';
import { readIfPresent } from '@holdpoint/infra/credentials/keep';
import { layout } from '@holdpoint/infra/credentials/layout';
import { createRegistry, endLeftovers } from '@holdpoint/infra/local/process/leftovers';
import { releaseDataDir } from '@holdpoint/infra/local/postgres/lock';
import { Problem } from '@holdpoint/infra/local/problem';
import type { Progress } from '@holdpoint/infra/local/progress';
import { claimDataDir } from '@holdpoint/infra/local/running';
import { DATABASE, provision } from '@holdpoint/infra/postgres/provision';
import { Pool } from 'pg';
import type { Deployment, Ended, Row, Text } from './deployment.ts';
import { expand } from './expand.ts';
import { type LocalInstance, startInstances } from './instances.ts';
import { startServers } from './local-servers.ts';
import { usageAt } from './usage.ts';
import { type LocalWorker, startWorkers } from './workers.ts';

export type LocalOptions = {
  readonly root: string;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Runs before the services start. Returns their extra environment. */
  readonly beforeServices: (beside: Beside) => Promise<Readonly<Record<string, string>>>;
  /** The number of processes that run programs. */
  readonly workers: number;
  readonly progress: Progress;
};

export type Beside = {
  readonly folder: string;
  /** Registers a process that the next run ends if this one is killed. */
  readonly register: (name: string, pid: number) => Promise<void>;
  readonly undo: (end: () => Promise<unknown>) => void;
};

const SECOND_PERSON = 'second';
const QUERY_WITHIN_MS = 120_000;

/** A second approver, so that two can decide at the same moment. */
const addPerson = async (credentialsDir: string): Promise<Deployment['people']> => {
  const files = layout(credentialsDir);
  const operator = (await readFile(files.operatorToken, 'utf8')).trim();
  const second = `${operator}-${SECOND_PERSON}`;
  const people = [
    { name: 'operator', token: operator },
    { name: SECOND_PERSON, token: second },
  ];
  const principals = people.map(({ name, token }) => ({
    name,
    groups: ['operators'],
    tokenSha256: tokenDigest(token),
  }));
  await writeFile(files.principals, JSON.stringify({ principals }), { mode: 0o600 });
  return people;
};

/** An empty folder that no other run uses. */
const takeFolder = async (folder: string, undo: (end: () => Promise<unknown>) => void): Promise<void> => {
  const claimed = await claimDataDir(folder);
  if ('running' in claimed)
    throw new Problem(
      `another torture run is under way in ${folder}, as process ${String(claimed.running.pid)}`,
    );
  undo(claimed.claim.release);
  await endLeftovers(join(folder, 'processes.json'));
  await releaseDataDir(join(folder, 'postgres', 'data'));
};

const logText = (name: string, file: string): Text => ({
  name,
  parts: () => createReadStream(file) as AsyncIterable<Buffer>,
});

/** Two processes of each service with their own servers and a proxy on each connection. */
export const startLocal = async (options: LocalOptions): Promise<Deployment> => {
  const { root, folder, env, progress } = options;
  const ends: (() => Promise<unknown>)[] = [];
  const undo = (end: () => Promise<unknown>): void => void ends.push(end);
  const stop = async (): Promise<void> => {
    const problems: unknown[] = [];
    for (const end of ends.splice(0).toReversed())
      await end().catch((error: unknown) => problems.push(error));
    if (problems.length > 0) throw new AggregateError(problems, 'some processes did not stop');
  };
  try {
    return await start();
  } catch (error) {
    await stop();
    throw error;
  }

  async function start(): Promise<Deployment> {
    await takeFolder(folder, undo);
    for (const name of [
      'postgres',
      'nats',
      'logs',
      'workspace',
      'workspace.journal',
      'workspace.state',
      'repositories',
      'credentials',
      'migrations',
      'counter.ndjson',
    ])
      await rm(join(folder, name), { recursive: true, force: true });
    for (const name of ['logs', 'workspace']) await mkdir(join(folder, name), { recursive: true });
    await chmod(folder, 0o755);
    const credentialsDir = join(folder, 'credentials');
    await generateCredentials(credentialsDir);
    const people = await addPerson(credentialsDir);
    const registry = createRegistry(join(folder, 'processes.json'));
    undo(registry.clear);
    const servers = await startServers(folder, credentialsDir, { env, progress, undo });
    const { admin } = servers.postgres;
    await progress.step('migrating the database', () => provision({ admin, credentialsDir, root }));
    const inside = { ...admin, database: DATABASE };
    const pool = new Pool({
      ...inside,
      max: 3,
      query_timeout: QUERY_WITHIN_MS,
      application_name: 'holdpoint torture',
    });
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
    undo(() => pool.end());

    const register = (name: string, pid: number) => registry.add({ name, pid, marker: folder });
    const serviceEnv = await options.beforeServices({ folder, register, undo });
    const ended: Ended[] = [];
    const begun: LocalInstance[] = [];
    undo(() => Promise.all(begun.map((instance) => instance.stop())));
    const instances = await progress.step('starting the services', () =>
      startInstances(
        {
          root,
          folder,
          credentialsDir,
          workspace: join(folder, 'workspace'),
          natsPort: servers.ports.nats,
          postgresPort: servers.ports.postgres,
          database: DATABASE,
          env,
          serviceEnv,
          onStart: (name, { pid }) => register(name, pid),
          onEnded: (one) => void ended.push(one),
          say: progress.say,
        },
        (instance) => void begun.push(instance),
      ),
    );
    const hired: LocalWorker[] = [];
    undo(() => Promise.all(hired.map((worker) => worker.stop())));
    const hire = () =>
      startWorkers(
        {
          root,
          folder,
          credentialsDir,
          natsUrl: servers.natsUrl,
          count: options.workers,
          onStart: (name, { pid }) => register(name, pid),
          onEnded: (one) => void ended.push(one),
        },
        (worker) => void hired.push(worker),
      );
    const workers = options.workers === 0 ? [] : await progress.step('starting workers of programs', hire);
    const byName = new Map(instances.map((instance) => [instance.name, instance]));
    const find = (name: string): LocalInstance => {
      const found = byName.get(name);
      if (found === undefined) throw new Problem(`there is no ${name} here`);
      return found;
    };
    const processOf = (name: string): Pick<LocalWorker, 'signal' | 'end'> =>
      workers.find((worker) => worker.name === name) ?? find(name);

    return {
      kind: 'local',
      natsUrl: servers.natsUrl,
      credentialsDir,
      people,
      readWorkspace: async (file) => (await readIfPresent(join(folder, 'workspace', file))) ?? '',
      instances: instances.map(({ name, service }) => ({ name, service })),
      workers: workers.map(({ name }) => name),
      consoles: instances.filter(({ service }) => service === 'approvals').map(({ url }) => url),
      isReady: (name) => find(name).isReady(),
      kill: async (name) => processOf(name).end('SIGKILL'),
      pause: async (name) => processOf(name).signal('SIGSTOP'),
      resume: async (name) => processOf(name).signal('SIGCONT'),
      restart: (name) => find(name).restart(),
      nats: servers.breakNats,
      postgres: servers.breakPostgres,
      link: (name, upstream) => find(name).links[upstream],
      disk: servers.disk,
      query: async (sql) => (await pool.query<Row>(sql)).rows,
      migrate: (service, step) => expand({ admin: inside, root, folder, service, step }),
      ended: () => ended,
      usage: () => usageAt(instances),
      logs: async () => [
        ...[...instances, ...workers].map(({ name, logFile }) => logText(name, logFile)),
        logText('postgres', join(folder, 'logs', 'postgres.log')),
        logText('nats', join(folder, 'logs', 'nats.log')),
      ],
      heal: async () => {
        for (const { signal } of workers) signal('SIGCONT');
        for (const { links, signal } of instances) {
          signal('SIGCONT');
          for (const link of Object.values(links)) link.heal();
        }
        if (servers.breakNats.whyNoPause === undefined) await servers.breakNats.resume();
        for (const upstream of ['nats', 'postgres'] as const) {
          const disk = servers.disk(upstream);
          if ('free' in disk) await disk.free();
        }
        await servers.breakPostgres.revive();
      },
      stop,
    };
  }
};
