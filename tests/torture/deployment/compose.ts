import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { DATABASE, layout } from '@holdpoint/infra/credentials/layout';
import { poll } from '@holdpoint/infra/local/poll';
import { isReadyAt } from '@holdpoint/infra/local/process/service-processes';
import { Problem } from '@holdpoint/infra/local/problem';
import { z } from 'zod';
import { watchEnds } from './container-ends.ts';
import type { Deployment, Instance, Row, Text } from './deployment.ts';
import { type ComposeProject, composeProject, docker, streamOf } from './docker.ts';
import { EXPANSION } from './expand.ts';
import { usageAt } from './usage.ts';

const READY_WITHIN_MS = 120_000;
const STOP_SECONDS = '20';
const NO_DISK = 'its volumes share the disk of this machine';
const SERVICES_FIXED = 'its containers run one service each';
const FILES_INSIDE = 'the files of nats-server are in a container';

const Container = z.object({ Name: z.string(), Service: z.string() });
type Container = z.infer<typeof Container>;

/** The running containers. Compose writes a list or lines, depending on its version. */
const listContainers = async ({ name, compose }: ComposeProject): Promise<readonly Container[]> => {
  const text = (await compose('ps', '--format', 'json')).toString('utf8').trim();
  const found: unknown = text.startsWith('[')
    ? JSON.parse(text)
    : text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as unknown);
  const containers = z.array(Container).parse(found);
  const missing = [...SERVICES, 'nats', 'postgres'].filter(
    (service) => !containers.some(({ Service }) => Service === service),
  );
  if (missing.length > 0)
    throw new Problem(`the project ${name} does not run: there is no ${missing.join(', ')}`);
  return containers;
};

const untar = (archive: Buffer, folder: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = execFile('tar', ['-C', folder, '-xf', '-'], (error) =>
      error === null
        ? resolve()
        : reject(new Problem('tar could not unpack the credentials', { cause: error })),
    );
    child.stdin?.end(archive);
  });

/** Copies the credentials for the run: those of users to decide, those of services to publish. */
const copyCredentials = async ({ compose }: ComposeProject): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'holdpoint-torture-'));
  await untar(
    await compose(
      'run',
      '--rm',
      '--no-deps',
      '--no-TTY',
      'prepare',
      'tar',
      '-C',
      '/credentials',
      '-cf',
      '-',
      '.',
    ),
    folder,
  );
  return folder;
};

/** The published address of a container port, or undefined. */
const publishedAt = async (name: string, port: number): Promise<string | undefined> => {
  const lines = await docker(['port', name, String(port)]).catch(() => Buffer.alloc(0));
  return lines.toString('utf8').trim().split('\n')[0]?.replace('0.0.0.0', '127.0.0.1') || undefined;
};

const isHealthy = async (name: string, address: string | undefined): Promise<boolean> => {
  if (address !== undefined) return isReadyAt(`http://${address}`);
  try {
    return (
      (await docker(['inspect', '--format', '{{.State.Health.Status}}', name])).toString('utf8').trim() ===
      'healthy'
    );
  } catch {
    return false; // it is being started again, or is paused
  }
};

/** The password stays in the container. Each row is one line of JSON. */
const PSQL =
  'PGPASSWORD="$(cat /run/holdpoint/hp_admin.password)" exec psql -h 127.0.0.1 -U hp_admin -d "$1" -X -q -At -v ON_ERROR_STOP=1 -c "$2"';

/** `HOLDPOINT_METRICS_PORT` of the compose project. */
const METRICS_PORT = 8081;

/** A deployment of the user. The torture breaks it and leaves it running. */
export const openCompose = async (root: string, projectName: string): Promise<Deployment> => {
  const project = composeProject(root, projectName);
  const { compose } = project;
  const containers = await listContainers(project);
  const credentialsDir = await copyCredentials(project);
  const instances: readonly (Instance & {
    readonly address: string | undefined;
    readonly metrics: string | undefined;
  })[] = await Promise.all(
    containers.flatMap(({ Name: name, Service }) =>
      SERVICES.filter((service) => service === Service).map(async (service) => ({
        name,
        services: [service],
        address: await publishedAt(name, 8080),
        metrics: await publishedAt(name, METRICS_PORT),
      })),
    ),
  );
  const containerOf = (service: string): string => {
    const found = containers.find(({ Service }) => Service === service)?.Name;
    if (found === undefined) throw new Problem(`the project ${projectName} has no ${service}`);
    return found;
  };
  const [nats, postgres] = [containerOf('nats'), containerOf('postgres')];
  const natsAddress = await publishedAt(nats, 4222);
  if (natsAddress === undefined) throw new Problem('NATS of this project publishes no port on this machine');
  const ends = watchEnds(projectName, new Set(containers.map(({ Name }) => Name)));
  const expansions: string[] = [];

  const psql = (sql: string): Promise<Buffer> =>
    compose('exec', '--no-TTY', 'postgres', 'sh', '-c', PSQL, 'sh', DATABASE, sql);
  const query = async (sql: string): Promise<readonly Row[]> => {
    const lines = (await psql(`SELECT row_to_json(q) FROM (${sql}) q`)).toString('utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Row);
  };
  const start = async (name: string): Promise<void> => void (await docker(['start', name]));
  const kill = async (name: string, signal = 'KILL'): Promise<void> => {
    ends.expect(name);
    await docker(['kill', '--signal', signal, name]);
  };
  const stop = async (name: string): Promise<void> => {
    ends.expect(name);
    await docker(['stop', '--time', STOP_SECONDS, name]);
  };
  const unpause = async (name: string): Promise<void> =>
    void (await docker(['unpause', name]).catch(() => undefined));
  const addressOf = (name: string): string | undefined =>
    instances.find((each) => each.name === name)?.address;
  const isReady = (name: string): Promise<boolean> => isHealthy(name, addressOf(name));
  const startPostgres = async (): Promise<void> => {
    await start(postgres);
    await poll(() => query('SELECT 1 AS one'), {
      timeoutMs: READY_WITHIN_MS,
      everyMs: 500,
      what: 'PostgreSQL answers',
    });
  };
  const token = (await readFile(layout(credentialsDir).operatorToken, 'utf8')).trim();

  return {
    kind: 'compose',
    natsUrl: `nats://${natsAddress}`,
    credentialsDir,
    people: [{ name: 'operator', token }],
    readWorkspace: async (file) =>
      (
        await compose(
          'exec',
          '--no-TTY',
          'executor',
          'sh',
          '-c',
          'test ! -e "$1" || cat "$1"',
          'sh',
          `/workspace/${file}`,
        )
      ).toString('utf8'),
    instances: instances.map(({ name, services }) => ({ name, services })),
    workers: [],
    // Published ports depend on the deployment.
    consoles: [],
    isReady,
    kill: async (name) => {
      await kill(name);
      // Docker takes the exit for a stop by the user and does not restart the container.
      await start(name);
    },
    pause: async (name) => void (await docker(['pause', name])),
    resume: unpause,
    restart: async (name) => {
      ends.expect(name);
      await docker(['restart', '--time', STOP_SECONDS, name]);
      await poll(async () => ((await isReady(name)) ? true : undefined), {
        timeoutMs: READY_WITHIN_MS,
        everyMs: 500,
        what: `${name} is ready again`,
      });
    },
    nats: {
      kill: () => kill(nats),
      stop: () => stop(nats),
      start: () => start(nats),
      pause: async () => void (await docker(['pause', nats])),
      resume: () => unpause(nats),
      copyMessages: () => Promise.reject(new Error(FILES_INSIDE)),
      loseTail: () => Promise.reject(new Error(FILES_INSIDE)),
      whyNoCopy: FILES_INSIDE,
      wipe: async () =>
        void (await compose(
          'run',
          '--rm',
          '--no-deps',
          '--no-TTY',
          'prepare',
          'rm',
          '-rf',
          '/jetstream/jetstream',
        )),
      whyNoPause: undefined,
    },
    postgres: {
      end: (how) => (how === 'fast' ? stop(postgres) : kill(postgres, how === 'kill' ? 'KILL' : 'QUIT')),
      start: startPostgres,
      revive: startPostgres,
    },
    startProcess: () => Promise.reject(new Problem(SERVICES_FIXED)),
    whyNoProcess: SERVICES_FIXED,
    link: () => undefined,
    disk: () => ({ whyNot: NO_DISK }),
    query,
    migrate: async (service, step) => {
      const as = `SET ROLE hp_owner; SET search_path = ${service};`;
      await psql(`${as} ${EXPANSION(step).join('; ')}`);
      expansions.push(`${as} ALTER TABLE heads DROP COLUMN IF EXISTS torture_${String(step)}`);
    },
    ended: ends.ended,
    usage: () =>
      usageAt(
        instances.flatMap(({ name, metrics }) =>
          metrics === undefined ? [] : [{ name, url: `http://${metrics}` }],
        ),
      ),
    logs: async () =>
      containers.map(({ Name: name }): Text => ({ name, parts: () => streamOf(['logs', name]) })),
    heal: async () => {
      for (const { Name } of containers) await unpause(Name);
      await start(nats);
      await startPostgres();
      for (const { name } of instances) await start(name);
    },
    stop: async () => {
      ends.stop();
      // A later release must not find these columns.
      for (const sql of expansions) await psql(sql);
      await rm(credentialsDir, { recursive: true, force: true });
    },
  };
};
