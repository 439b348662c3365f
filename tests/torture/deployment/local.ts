import { createReadStream } from 'node:fs';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CORE_SERVICES } from '@holdpoint/contracts/bus/subjects';
import { tokenDigest } from '@holdpoint/infra/credentials/generate';
import { readIfPresent } from '@holdpoint/infra/credentials/keep';
import { DATABASE, layout } from '@holdpoint/infra/credentials/layout';
import { startFoundation, takeDataDir } from '@holdpoint/infra/local/foundation';
import { Problem } from '@holdpoint/infra/local/problem';
import type { Progress } from '@holdpoint/infra/local/progress';
import type { Form } from '@holdpoint/infra/local/stack';
import { createUndo, type Undo } from '@holdpoint/infra/local/undo';
import { CONNECTIONS_MAX } from '@holdpoint/runtime/service/config';
import { Pool, type PoolConfig } from 'pg';
import { liftConnectionLimits } from '../../kit/stack/prepare-postgres.ts';
import type { Breakable } from './breakable.ts';
import type { Deployment, Ended, Row, Text } from './deployment.ts';
import { expand } from './expand.ts';
import { addInstance, type LocalInstance, startInstances } from './instances.ts';
import { breakServers, mountDisks } from './local-servers.ts';
import { usageAt } from './usage.ts';
import { startWorkers } from './workers.ts';

export type LocalOptions = {
  readonly root: string;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Runs before the services start. Returns their extra environment. */
  readonly beforeServices: (beside: Beside) => Promise<Readonly<Record<string, string>>>;
  /** The number of processes that run programs, and of claimants. */
  readonly workers: number;
  /** `core`: orchestrator, approvals and recovery share a process. Default: `apart`. */
  readonly form?: Form | undefined;
  /** Processes of each kind. Default: two. */
  readonly replicas?: number | undefined;
  readonly progress: Progress;
};

export type Beside = {
  readonly folder: string;
  /** Registers a process that the next run ends if this one is killed. */
  readonly register: (name: string, pid: number) => Promise<void>;
  readonly undo: Undo;
};

/** Connections of the local server, without those of administrators. */
const SERVER_CONNECTIONS = 90;
const SECOND_PERSON = 'second';
const QUERY_WITHIN_MS = 120_000;
/** The heap that Node.js takes under the memory limit of the images, 768 MiB. Without a limit it collects later. */
const AS_IN_AN_IMAGE = { NODE_OPTIONS: '--max-old-space-size=384' };
const AS_NEXT_RELEASE = {
  NODE_OPTIONS: `${AS_IN_AN_IMAGE.NODE_OPTIONS} --import=${join(import.meta.dirname, 'as-next-release.ts')}`,
};

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

const LEFTOVERS = [
  'postgres',
  'nats',
  'nats-copy',
  'logs',
  'workspace',
  'workspace.journal',
  'workspace.state',
  'repositories',
  'book',
  'credentials',
  'migrations',
  'counter.ndjson',
];

const emptyFolder = async (folder: string): Promise<void> => {
  for (const name of LEFTOVERS) await rm(join(folder, name), { recursive: true, force: true });
  await mkdir(join(folder, 'workspace'), { recursive: true });
  // PostgreSQL may run as another user.
  await chmod(folder, 0o755);
};

const openPool = (connection: PoolConfig, undo: Undo): Pool => {
  const pool = new Pool({
    ...connection,
    max: 3,
    query_timeout: QUERY_WITHIN_MS,
    application_name: 'holdpoint torture',
  });
  // A fault ends the connections; the next query opens another one.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  undo.add(() => pool.end());
  return pool;
};

const logText = (name: string, file: string): Text => ({
  name,
  parts: () => createReadStream(file) as AsyncIterable<Buffer>,
});

/** Processes of all services with their own servers and a proxy on each connection. */
export const startLocal = async (options: LocalOptions): Promise<Deployment> => {
  const undo = createUndo();
  try {
    return await startWith(options, undo);
  } catch (error) {
    await undo.run();
    throw error;
  }
};

const startWith = async (options: LocalOptions, undo: Undo): Promise<Deployment> => {
  const { root, folder, env, progress } = options;
  // The parent of the database files is a disk of its own.
  const home = { dataDir: folder, postgresFolder: join('postgres', 'data'), progress, undo };
  await takeDataDir(home);
  await emptyFolder(folder);
  const disks = await mountDisks(folder, undo);
  const foundation = await startFoundation({ ...home, root, env });
  const { natsUrl, credentialsDir, registry, logFile } = foundation;
  // A process that is added has connections of its own.
  await liftConnectionLimits(foundation.postgres.admin);
  const people = await addPerson(credentialsDir);
  const servers = breakServers(foundation, undo);
  const inside = { ...foundation.postgres.admin, database: DATABASE };
  const pool = openPool(inside, undo);
  const register = (name: string, pid: number) => registry.add({ name, pid, marker: folder });
  const serviceEnv = { ...(await options.beforeServices({ folder, register, undo })), ...AS_IN_AN_IMAGE };
  const ended: Ended[] = [];
  const around = { root, folder, foundation, undo, onEnded: (one: Ended) => void ended.push(one) };
  const workspace = join(folder, 'workspace');
  const ofServices = {
    ...around,
    workspace,
    env,
    serviceEnv,
    form: options.form ?? 'apart',
    replicas: options.replicas ?? 2,
  };
  const instances = await progress.step('starting the services', () => startInstances(ofServices));
  const consoles = instances.filter(({ services }) => services.includes('approvals')).map(({ url }) => url);
  const { workers: count } = options;
  const workers =
    count === 0
      ? []
      : await progress.step('starting workers and claimants', () =>
          startWorkers({ ...around, count, console: consoles[0] ?? '' }),
        );
  const byName = new Map(instances.map((instance) => [instance.name, instance]));
  const find = (name: string): LocalInstance => {
    const found = byName.get(name);
    if (found === undefined) throw new Problem(`there is no ${name} here`);
    return found;
  };
  const processOf = (name: string): Breakable => workers.find((worker) => worker.name === name) ?? find(name);

  return {
    kind: 'local',
    natsUrl,
    credentialsDir,
    people,
    readWorkspace: async (file) => (await readIfPresent(join(workspace, file))) ?? '',
    instances: instances.map(({ name, services }) => ({ name, services })),
    workers: workers.map(({ name }) => name),
    consoles,
    isReady: (name) => find(name).isReady(),
    kill: async (name) => processOf(name).end('SIGKILL'),
    pause: async (name) => processOf(name).signal('SIGSTOP'),
    resume: async (name) => processOf(name).signal('SIGCONT'),
    restart: (name) => find(name).restart(),
    startProcess: (instance, release) =>
      addInstance(
        instance,
        release === 'next'
          ? { ...ofServices, serviceEnv: { ...serviceEnv, ...AS_NEXT_RELEASE } }
          : ofServices,
      ),
    whyNoProcess:
      (instances.length + CORE_SERVICES.length) * CONNECTIONS_MAX > SERVER_CONNECTIONS
        ? 'PostgreSQL has no connections for more processes'
        : undefined,
    nats: servers.nats,
    postgres: servers.postgres,
    link: (name, upstream) => find(name).links[upstream],
    disk: (upstream) => disks[upstream],
    query: async (sql) => (await pool.query<Row>(sql)).rows,
    migrate: (service, step) => expand({ admin: inside, root, folder, service, step }),
    ended: () => ended,
    usage: () => usageAt(instances),
    logs: async () => [
      ...[...instances, ...workers].map(({ name, logFile }) => logText(name, logFile)),
      logText('postgres', logFile('postgres')),
      logText('nats', logFile('nats')),
    ],
    heal: async () => {
      for (const { signal } of workers) signal('SIGCONT');
      for (const { links, signal } of instances) {
        signal('SIGCONT');
        for (const link of Object.values(links)) link.heal();
      }
      if (servers.nats.whyNoPause === undefined) await servers.nats.resume();
      for (const disk of Object.values(disks)) if ('free' in disk) await disk.free();
      await servers.postgres.revive();
    },
    stop: undo.run,
  };
};
