import { parseArgs } from 'node:util';
import { readPublicNkeys } from '../credentials/read.ts';
import { parseServerVersion, renderServerConfig } from './config.ts';
import { poolsIn } from './pools.ts';

/** Prints a nats-server.conf for a server that somebody else runs: compose, Kubernetes, a machine of one's own. */
const usage = `usage: node infra/nats/main.ts --credentials <folder> [--server-version 2.15.0] [--host 0.0.0.0] [--port 4222]
       [--monitor-port 8222] [--store /data/jetstream] [--sync always] [--pools default,gpu]
`;

const options = {
  credentials: { type: 'string' },
  'server-version': { type: 'string', default: '2.15.0' },
  host: { type: 'string', default: '0.0.0.0' },
  port: { type: 'string', default: '4222' },
  'monitor-port': { type: 'string' },
  store: { type: 'string', default: '/data/jetstream' },
  sync: { type: 'string' },
  pools: { type: 'string', default: '' },
} as const;

const portNumber = (text: string): number => {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error(`not a port: ${text}`);
  return port;
};

const render = async (): Promise<string> => {
  const { values } = parseArgs({ options });
  if (values.credentials === undefined) throw new Error('--credentials is missing');
  const monitorPort = values['monitor-port'];
  return renderServerConfig({
    version: parseServerVersion(values['server-version']),
    publicKeys: await readPublicNkeys(values.credentials),
    host: values.host,
    port: portNumber(values.port),
    storeDir: values.store,
    sync: values.sync === 'always' ? 'always' : 'periodic',
    pools: poolsIn(values.pools),
    ...(monitorPort !== undefined && { monitor: { host: values.host, port: portNumber(monitorPort) } }),
  });
};

try {
  process.stdout.write(await render());
} catch (error) {
  process.stderr.write(`nats config: ${error instanceof Error ? error.message : String(error)}\n${usage}`);
  process.exit(64);
}
