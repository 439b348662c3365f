import { parseArgs } from 'node:util';
import type { NatsServerOptions } from '@holdpoint/cli/host/commands';
import { readPublicNkeys } from '../credentials/read.ts';
import { renderServerConfig } from './config.ts';
import { poolsIn } from './pools.ts';

/** Prints a nats-server.conf for an external server: Compose, Kubernetes, or your own machine. */
const usage = `usage: node infra/nats/main.ts --credentials <folder> [--host 0.0.0.0] [--port 4222]
       [--monitor-port 8222] [--store /data/jetstream] [--sync always] [--pools default,gpu]
       of a cluster, for each of its servers: --server-name nats-0 --cluster-name holdpoint --cluster-port 6222
       --routes nats://nats-0:6222,nats://nats-1:6222,nats://nats-2:6222 --stream-replicas 3
`;

const options = {
  credentials: { type: 'string' },
  host: { type: 'string', default: '0.0.0.0' },
  port: { type: 'string', default: '4222' },
  'monitor-port': { type: 'string' },
  store: { type: 'string', default: '/data/jetstream' },
  sync: { type: 'string' },
  pools: { type: 'string', default: '' },
  'server-name': { type: 'string' },
  'cluster-name': { type: 'string' },
  'cluster-port': { type: 'string', default: '6222' },
  routes: { type: 'string', default: '' },
  'stream-replicas': { type: 'string', default: '1' },
} as const;

const portNumber = (text: string): number => {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error(`not a port: ${text}`);
  return port;
};

const replicas = (text: string): number => {
  if (!/^[135]$/.test(text)) throw new Error('--stream-replicas is 1, 3 or 5');
  return Number(text);
};

/** The nats-server.conf of one server. */
export const serverConfig = async (options: NatsServerOptions): Promise<string> => {
  const { credentials, host, port, monitorPort, serverName, clusterName } = options;
  if (clusterName !== undefined && serverName === undefined)
    throw new Error('each server of a cluster has a --server-name of its own');
  const pools = poolsIn(options.pools);
  return renderServerConfig({
    publicKeys: await readPublicNkeys(credentials),
    host,
    port,
    storeDir: options.store,
    sync: options.sync,
    pools,
    streamReplicas: options.streamReplicas,
    ...(serverName !== undefined && { serverName }),
    ...(clusterName !== undefined && {
      cluster: { name: clusterName, host, port: options.clusterPort, routes: options.routes },
    }),
    ...(monitorPort !== undefined && { monitor: { host, port: monitorPort } }),
  });
};

const render = async (): Promise<string> => {
  const { values } = parseArgs({ options });
  if (values.credentials === undefined) throw new Error('--credentials is missing');
  const monitorPort = values['monitor-port'];
  return serverConfig({
    credentials: values.credentials,
    host: values.host,
    port: portNumber(values.port),
    monitorPort: monitorPort === undefined ? undefined : portNumber(monitorPort),
    store: values.store,
    sync: values.sync === 'always' ? 'always' : 'periodic',
    pools: values.pools,
    serverName: values['server-name'],
    clusterName: values['cluster-name'],
    clusterPort: portNumber(values['cluster-port']),
    routes: values.routes.split(',').filter((route) => route !== ''),
    streamReplicas: replicas(values['stream-replicas']),
  });
};

if (import.meta.main)
  try {
    process.stdout.write(await render());
  } catch (error) {
    process.stderr.write(`nats config: ${error instanceof Error ? error.message : String(error)}\n${usage}`);
    process.exit(64);
  }
