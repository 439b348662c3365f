import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { generateCredentials } from '@holdpoint/infra/credentials/generate';
import { natsManifest, secretManifests } from '@holdpoint/infra/k8s/secret-manifests';
import { root } from '@holdpoint/infra/local/folders';
import { messageOf, Problem } from '@holdpoint/infra/local/problem';
import { NEXT_MIGRATION } from '../../kit/stack/next-release.ts';
import type { Cluster } from './cluster.ts';
import { counterManifests, counterOrigin } from './counter.ts';
import { IMAGES, REPOSITORY, TAGS } from './images.ts';
import { FILE_PATH } from './load.ts';

/** Prints a line of the report. */
export const say = (line: string): void => void process.stdout.write(`${line}\n`);

const RELEASE = 'holdpoint';
const POOLS = ['default', 'web'];
const CHART = join(root, 'infra', 'chart');
const PATIENCE = '15m';

const small = { requests: { cpu: '20m', memory: '128Mi' }, limits: { cpu: '2', memory: '1Gi' } };

/** One NATS server, one PostgreSQL server, one executor with files and two for effects on other machines. */
export const valuesOf = (namespace: string, tag: string, webExecutors = 2) => ({
  image: { repository: REPOSITORY, tag },
  postgres: { roleConnectionsMax: 40 },
  orchestrator: { resources: small },
  approvals: { resources: small },
  recovery: { resources: small },
  executors: [
    {
      pool: 'default',
      replicas: 1,
      files: true,
      resources: small,
      storage: { journal: '1Gi', workspace: '1Gi', repositories: '1Gi' },
    },
    {
      pool: 'web',
      replicas: webExecutors,
      files: false,
      settings: {
        HOLDPOINT_HTTP_TARGETS: counterOrigin(namespace),
        HOLDPOINT_HTTP_KEYED_TARGETS: counterOrigin(namespace),
      },
      resources: small,
      storage: { journal: '1Gi' },
    },
  ],
});

type Values = ReturnType<typeof valuesOf>;

/** Installs or upgrades the chart, and waits until every pod is ready. */
export const apply = async (
  { helm }: Pick<Cluster, 'helm'>,
  folder: string,
  values: Values,
): Promise<void> => {
  const file = join(folder, 'values.json');
  writeFileSync(file, JSON.stringify(values));
  await helm(['upgrade', '--install', RELEASE, CHART, '--values', file, '--wait', '--timeout', PATIENCE]);
};

export const install = async (
  { kubectl, helm }: Cluster,
  folder: string,
  namespace: string,
): Promise<string> => {
  await kubectl(['create', 'namespace', namespace]);
  await kubectl(['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted']);
  const credentials = join(folder, 'credentials');
  await generateCredentials(credentials);
  const values = valuesOf(namespace, TAGS.now);
  const refused = await apply({ helm }, folder, values).then(
    () => undefined,
    (error: unknown) => messageOf(error),
  );
  if (refused?.includes('create it first') !== true)
    throw new Problem(`an installation without secrets is not refused: ${String(refused)}`);
  say(`  refused without secrets: ${/secret .*/.exec(refused)?.[0] ?? ''}`);
  const items = [
    ...(await secretManifests(credentials, namespace)),
    await natsManifest(credentials, POOLS, namespace),
  ];
  await kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  await kubectl(['apply', '-f', '-'], counterManifests(IMAGES.now));
  await apply({ helm }, folder, values);
  return credentials;
};

/** Restarts of containers, and lines of the services about a schema that is not there. */
export const noise = async ({ kubectl }: Cluster) => {
  const restarts = await kubectl([
    'get',
    'pods',
    '--selector',
    'app.kubernetes.io/component=service',
    '--output',
    'jsonpath={range .items[*]}{.status.containerStatuses[0].restartCount}{"\\n"}{end}',
  ]);
  const logs = await Promise.all(
    SERVICES.map((name) =>
      kubectl([
        'logs',
        '--selector',
        `app.kubernetes.io/name=${name}`,
        '--container',
        name,
        '--tail',
        '-1',
        '--prefix',
      ]),
    ),
  );
  const lines = logs.join('\n').split('\n');
  return {
    restarts: restarts.split('\n').reduce((sum, each) => sum + Number(each || 0), 0),
    missingTables: lines.filter((line) => line.includes('42P01')).length,
  };
};

export const rollAll = async ({ kubectl }: Cluster): Promise<void> => {
  const selector = ['--selector', 'app.kubernetes.io/component=service'];
  await kubectl(['rollout', 'restart', 'deployment,statefulset', ...selector]);
  await settled({ kubectl });
};

/** Every rollout has ended, of the servers too. */
const settled = async ({ kubectl }: Pick<Cluster, 'kubectl'>): Promise<void> => {
  const names = await kubectl(['get', 'deployment,statefulset', '--output', 'name']);
  for (const name of names.trim().split('\n'))
    await kubectl(['rollout', 'status', name, `--timeout=${PATIENCE}`]);
};

export const KILLED = ['executor-0', 'nats-0', 'postgres-0'];

export const killOneByOne = async ({ kubectl }: Cluster): Promise<void> => {
  for (const pod of KILLED) {
    await sleep(5_000);
    await kubectl(['delete', 'pod', pod, '--force', '--grace-period=0', '--wait=false']);
    say(`    deleted ${pod} by force`);
  }
  await settled({ kubectl });
};

/** The services whose schema has the migration of the next release. */
export const upgrade = async (
  { kubectl, helm }: Cluster,
  folder: string,
  namespace: string,
): Promise<readonly string[]> => {
  await apply({ helm }, folder, valuesOf(namespace, TAGS.next));
  const query = SERVICES.map(
    (name) => `select '${name}' from ${name}.kysely_migration where name = '${NEXT_MIGRATION}'`,
  ).join(' union all ');
  const psql = 'psql --username hp_admin --host 127.0.0.1 --dbname holdpoint --tuples-only --no-align';
  const script = `PGPASSWORD="$(cat /run/holdpoint/hp_admin.password)" ${psql} --command "${query}"`;
  const found = await kubectl(['exec', 'postgres-0', '--', 'sh', '-c', script]);
  return found.trim().split('\n');
};

export const readFromPod = ({ kubectl }: Cluster): Promise<string> =>
  kubectl(['exec', 'executor-0', '--container', 'executor', '--', 'cat', FILE_PATH]);

export const remove = async ({ kubectl, helm }: Cluster, namespace: string): Promise<void> => {
  await helm(['uninstall', RELEASE, '--ignore-not-found']);
  await kubectl(['delete', 'namespace', namespace, '--ignore-not-found', '--timeout=5m']);
};
