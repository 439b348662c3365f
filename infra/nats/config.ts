import { buckets, consumersFor, PAYLOAD_MAX_BYTES, streams } from '@holdpoint/contracts/bus/streams';
import { natsUsers } from '../credentials/layout.ts';
import type { PublicNkeys } from '../credentials/read.ts';
import { permissionTable } from './permissions.ts';
import type { PermissionTable, Rule } from './permissions.ts';

const MIB = 1024 * 1024;

export type ServerVersion = { readonly major: number; readonly minor: number };

/** `nats-server: v2.9.10` and the like. */
export const parseServerVersion = (text: string): ServerVersion => {
  const match = /v?(\d+)\.(\d+)\.\d+/.exec(text);
  if (match === null) throw new Error(`not a version of nats-server: ${JSON.stringify(text.trim())}`);
  return { major: Number(match[1]), minor: Number(match[2]) };
};

const atLeast = (version: ServerVersion, major: number, minor: number): boolean =>
  version.major > major || (version.major === major && version.minor >= minor);

export type ServerSettings = {
  readonly version: ServerVersion;
  readonly publicKeys: PublicNkeys;
  readonly host: string;
  readonly port: number;
  /** Where `/healthz`, `/varz` and `/jsz` are served; without it, nowhere. It has no access control. */
  readonly monitor?: { readonly host: string; readonly port: number };
  readonly storeDir: string;
  readonly serverName?: string;
  readonly permissions?: PermissionTable;
  /** The pools of the deployment; the default one, when left out. */
  readonly pools?: readonly string[];
  /**
   * `always` syncs to disk before each acknowledgement (server 2.10 and later). Nothing depends on it: what a power cut
   * takes from the bus is sent again from PostgreSQL.
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

const ruleText = ({ allow, deny }: Rule): string =>
  deny.length === 0 ? `{ allow: ${list(allow)} }` : `{ allow: ${list(allow)}, deny: ${list(deny)} }`;

const usersText = (publicKeys: PublicNkeys, table: PermissionTable): string =>
  natsUsers
    .map((user) => {
      const { publish, subscribe } = table[user];
      return [
        `      # ${user}`,
        `      { nkey: ${publicKeys[user]}, permissions: {`,
        `          publish: ${ruleText(publish)}`,
        `          subscribe: ${ruleText(subscribe)} } }`,
      ].join('\n');
    })
    .join('\n');

/** Streams reserve their `max_bytes`, object stores among them, so the server's limit is their sum, and some room. */
const fileStoreMaxMib =
  Math.ceil([...streams, ...buckets].reduce((sum, { maxBytes }) => sum + maxBytes, 0) / MIB) + 512;

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

/** A nats-server.conf. Every line is understood by 2.9, except those for later versions. */
export const renderServerConfig = (settings: ServerSettings): string => {
  const { version, publicKeys, host, port, monitor, storeDir, streamReplicas = 1 } = settings;
  const sync = settings.sync === 'always' && atLeast(version, 2, 10) ? ['  sync_interval: always'] : [];
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
${[`  store_dir: ${JSON.stringify(storeDir)}`, '  max_memory_store: 64MB', `  max_file_store: ${fileStoreMaxMib}MB`, ...sync].join('\n')}
}
${clusterText(settings.cluster)}
accounts {
  HP {
    jetstream: { max_mem: 64MB, max_file: ${fileStoreMaxMib * streamReplicas}MB, max_streams: ${streams.length + buckets.length + 12}, max_consumers: 512 }
    users: [
${usersText(publicKeys, settings.permissions ?? permissionTable({ streams, consumers: consumersFor(settings.pools ?? []) }))}
    ]
  }
  SYS { }
}
system_account: SYS
`;
};
