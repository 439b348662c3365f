import { readFile } from 'node:fs/promises';
import { sharesOf } from '../compose/hand-out.ts';
import { layout, postgresRoles } from '../credentials/layout.ts';
import { readPublicNkeys } from '../credentials/read.ts';
import { renderServerConfig } from '../nats/config.ts';

/** The namespace of a deployment, unless it names its own. */
export const NAMESPACE = 'holdpoint';

type Manifest = {
  readonly apiVersion: 'v1';
  readonly kind: 'Secret' | 'ConfigMap';
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly type?: 'Opaque';
  readonly stringData?: Readonly<Record<string, string>>;
  readonly data?: Readonly<Record<string, string>>;
};

const secret = async (
  namespace: string,
  name: string,
  files: readonly { readonly from: string; readonly name: string }[],
): Promise<Manifest> => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace },
  type: 'Opaque',
  stringData: Object.fromEntries(
    await Promise.all(files.map(async ({ from, name: key }) => [key, await readFile(from, 'utf8')] as const)),
  ),
});

/** Those of a role each: what migrations need, and nothing of the bus or of grants. */
const provisioning = (credentialsDir: string, namespace: string): Promise<Manifest> =>
  secret(
    namespace,
    'holdpoint-provision',
    postgresRoles.map((role) => ({
      from: layout(credentialsDir).postgresPassword(role),
      name: `${role}.password`,
    })),
  );

/** The secrets that the chart names, one for each that mounts one, as a credentials folder has them. */
export const secretManifests = async (
  credentialsDir: string,
  namespace = NAMESPACE,
): Promise<readonly Manifest[]> => [
  ...(await Promise.all(
    sharesOf(credentialsDir).map(({ to, secrets }) => secret(namespace, `holdpoint-${to}`, secrets)),
  )),
  await provisioning(credentialsDir, namespace),
];

/** The configuration of the one NATS server inside the chart: public keys and permissions. */
export const natsManifest = async (
  credentialsDir: string,
  pools: readonly string[],
  namespace = NAMESPACE,
): Promise<Manifest> => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'holdpoint-nats', namespace },
  data: {
    'nats-server.conf': renderServerConfig({
      publicKeys: await readPublicNkeys(credentialsDir),
      host: '0.0.0.0',
      port: 4222,
      monitor: { host: '0.0.0.0', port: 8222 },
      storeDir: '/data',
      pools,
      sync: 'always',
    }),
  },
});
