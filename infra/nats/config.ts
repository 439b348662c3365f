import type { NatsServerOptions } from '@holdpoint/cli/host/commands';
import { ACCOUNT_NEEDS, OLDEST_SERVER } from '@holdpoint/contracts/bus/server-needs';
import { consumersFor, PAYLOAD_MAX_BYTES, streams } from '@holdpoint/contracts/bus/streams';
import { type PublicNkeys, readPublicNkeys } from '../credentials/read.ts';
import { busAccess } from './accounts.ts';
import type { Account, BusAccess, Export, Import } from './accounts.ts';
import { hasManyAnswers } from './jetstream-api.ts';
import { poolsIn } from './pools.ts';

export type ServerVersion = { readonly major: number; readonly minor: number };

/** `nats-server: v2.9.10` and the like. */
export const parseServerVersion = (text: string): ServerVersion => {
  const match = /v?(\d+)\.(\d+)\.\d+/.exec(text);
  if (match === null) throw new Error(`not a version of nats-server: ${JSON.stringify(text.trim())}`);
  return { major: Number(match[1]), minor: Number(match[2]) };
};

export const isSupported = ({ major, minor }: ServerVersion): boolean =>
  major > OLDEST_SERVER.major || (major === OLDEST_SERVER.major && minor >= OLDEST_SERVER.minor);

export type ServerSettings = {
  readonly publicKeys: PublicNkeys;
  readonly host: string;
  readonly port: number;
  /** Where `/healthz`, `/varz` and `/jsz` are served; without it, nowhere. It has no access control. */
  readonly monitor?: { readonly host: string; readonly port: number };
  readonly storeDir: string;
  readonly serverName?: string;
  /** That of the contracts, when left out. */
  readonly access?: BusAccess;
  /** In place of the accounts of `access`: the lines of a server in operator mode. */
  readonly accounts?: string;
  /** The pools of the deployment; the default one, when left out. */
  readonly pools?: readonly string[];
  /**
   * `always` syncs to disk before each acknowledgement. Nothing depends on it: what a power cut takes from the bus is
   * sent again from PostgreSQL.
   */
  readonly sync?: 'always' | 'periodic';
  /** Servers that keep the streams together. Each has a `serverName` of its own; routes lead to the others. */
  readonly cluster?: {
    readonly name: string;
    readonly host: string;
    readonly port: number;
    readonly routes: readonly string[];
  };
  /** `HOLDPOINT_STREAM_REPLICAS` of the orchestrator: what an account may keep counts every copy. */
  readonly streamReplicas?: number;
};

const list = (subjects: readonly string[]) =>
  `[${subjects.map((subject) => JSON.stringify(subject)).join(', ')}]`;

const block = (name: string, lines: readonly string[]): string =>
  lines.length === 0 ? '' : `    ${name}: [\n${lines.map((line) => `      ${line}\n`).join('')}    ]\n`;

const exportText = ({ kind, subject, accounts }: Export): string => {
  const many = kind === 'service' && hasManyAnswers(subject) ? ', response_type: stream' : '';
  return `{ ${kind}: ${JSON.stringify(subject)}, accounts: ${list(accounts)}${many} }`;
};

const importText = ({ kind, from, subject, to }: Import): string =>
  `{ ${kind}: { account: ${from}, subject: ${JSON.stringify(subject)} }${to === undefined ? '' : `, to: ${JSON.stringify(to)}`} }`;

const accountText = (
  { name, users, exports, imports }: Account,
  { permissions }: BusAccess,
  publicKeys: PublicNkeys,
  storage: string,
): string => {
  const logins = users.map((user) => {
    const { publish, subscribe } = permissions[user];
    return `{ nkey: ${publicKeys[user]}, permissions: { # ${user}
          publish: { allow: ${list(publish.allow)} }
          subscribe: { allow: ${list(subscribe.allow)} } } }`;
  });
  const inside = [
    users.includes('topology') ? `    jetstream: ${storage}\n` : '',
    block('users', logins),
    block('exports', exports.map(exportText)),
    block('imports', imports.map(importText)),
  ];
  return `  ${name} {\n${inside.join('')}  }`;
};

/** The accounts block, without its braces. */
export const accountsText = (access: BusAccess, publicKeys: PublicNkeys, streamReplicas: number): string => {
  const { diskMib, streams: streamsMax, consumers: consumersMax } = ACCOUNT_NEEDS;
  const storage = `{ max_mem: 64MB, max_file: ${diskMib * streamReplicas}MB, max_streams: ${streamsMax}, max_consumers: ${consumersMax} }`;
  return access.accounts.map((account) => accountText(account, access, publicKeys, storage)).join('\n');
};

/** The imports of an account of others. */
export const importsText = (imports: readonly Import[]): string => block('imports', imports.map(importText));

const clusterText = (cluster: ServerSettings['cluster']): string =>
  cluster === undefined
    ? ''
    : `
cluster {
  name: ${JSON.stringify(cluster.name)}
  listen: "${cluster.host}:${cluster.port}"
  routes: ${list(cluster.routes)}
}
`;

/** A nats-server.conf. */
export const renderServerConfig = (settings: ServerSettings): string => {
  const { publicKeys, host, port, monitor, storeDir, streamReplicas = 1 } = settings;
  const sync = settings.sync === 'always' ? ['  sync_interval: always'] : [];
  // Accounts of others reserve storage of their own.
  const fileStore = settings.accounts === undefined ? [`  max_file_store: ${ACCOUNT_NEEDS.diskMib}MB`] : [];
  const access = settings.access ?? busAccess({ streams, consumers: consumersFor(settings.pools ?? []) });
  return `# Written by Holdpoint. Subjects come from infra/nats/permissions.ts: change them there.
server_name: ${JSON.stringify(settings.serverName ?? 'holdpoint')}
listen: "${host}:${port}"
${monitor ? `http: "${monitor.host}:${monitor.port}"\n` : ''}
# Above the largest body that Holdpoint accepts (${PAYLOAD_MAX_BYTES} bytes), so that a somewhat larger one is refused with a code
# of its own and fits into the dead letters.
max_payload: ${PAYLOAD_MAX_BYTES * 2}
max_pending: 64MB
max_connections: 1024
max_subscriptions: 4096
# A client that vanished is noticed within half a minute, one that does not read within 5 s.
ping_interval: "10s"
ping_max: 2
write_deadline: "5s"

jetstream {
${[`  store_dir: ${JSON.stringify(storeDir)}`, '  max_memory_store: 64MB', ...fileStore, ...sync].join('\n')}
}
${clusterText(settings.cluster)}
${settings.accounts ?? `accounts {\n${accountsText(access, publicKeys, streamReplicas)}\n  SYS { }\n}\nsystem_account: SYS\n`}`;
};

/** The nats-server.conf of an external server: Compose, Kubernetes, or your own machine. */
export const serverConfig = async (options: NatsServerOptions): Promise<string> => {
  const { credentials, host, port, monitorPort, serverName, clusterName } = options;
  if (clusterName !== undefined && serverName === undefined)
    throw new Error('each server of a cluster has a --server-name of its own');
  return renderServerConfig({
    publicKeys: await readPublicNkeys(credentials),
    host,
    port,
    storeDir: options.store,
    sync: options.sync,
    pools: poolsIn(options.pools),
    streamReplicas: options.streamReplicas,
    ...(serverName !== undefined && { serverName }),
    ...(clusterName !== undefined && {
      cluster: { name: clusterName, host, port: options.clusterPort, routes: options.routes },
    }),
    ...(monitorPort !== undefined && { monitor: { host, port: monitorPort } }),
  });
};
