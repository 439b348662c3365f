import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { readPublicNkeys } from '../../credentials/read.ts';
import type { BusAccess } from '../../nats/accounts.ts';
import { renderServerConfig } from '../../nats/config.ts';
import { poolsIn } from '../../nats/pools.ts';
import { runNats, serverNameOf } from './nats.ts';
import type { NatsRun, NatsServer } from './nats.ts';

export type NatsConfig = Omit<NatsRun, 'logFile'> & {
  readonly credentialsDir: string;
  readonly sync?: 'always' | 'periodic';
  /** Other accounts and permissions than those of Holdpoint. */
  readonly access?: BusAccess;
  /** The lines of operator mode, in place of accounts. */
  readonly accounts?: string;
  /** Lines to add to the configuration. */
  readonly extraConfig?: string;
};

export type NatsOptions = NatsConfig & Pick<NatsRun, 'logFile'>;

/** Writes the configuration of a nats-server with JetStream and Holdpoint's users on 127.0.0.1. */
export const writeNatsConfig = async (options: NatsConfig): Promise<void> => {
  const dir = resolve(options.dir);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  // Inside a container the loopback address is not the one that Docker forwards to.
  const host = options.program.kind === 'docker' ? '0.0.0.0' : '127.0.0.1';
  const text = renderServerConfig({
    publicKeys: await readPublicNkeys(options.credentialsDir),
    host,
    port: options.port,
    storeDir: dir,
    serverName: serverNameOf(dir),
    pools: poolsIn(process.env['HOLDPOINT_DEPLOYMENT_POOLS']),
    ...(options.monitorPort !== undefined && { monitor: { host, port: options.monitorPort } }),
    ...(options.sync !== undefined && { sync: options.sync }),
    ...(options.access !== undefined && { access: options.access }),
    ...(options.accounts !== undefined && { accounts: options.accounts }),
  });
  await writeFile(join(dir, 'nats-server.conf'), `${text}${options.extraConfig ?? ''}`, { mode: 0o600 });
};

/** Starts a nats-server with Holdpoint's users on 127.0.0.1, and waits until it serves. */
export const startNats = async (options: NatsOptions): Promise<NatsServer> => {
  await writeNatsConfig(options);
  return runNats(options);
};
