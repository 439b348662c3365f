import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readPublicNkeys } from '@holdpoint/infra/credentials/read';
import { type Child, startChild } from '@holdpoint/infra/local/process/child';
import type { NatsProgram } from '@holdpoint/infra/local/nats/nats-program';
import { choosePorts } from '@holdpoint/infra/local/ports';
import { renderServerConfig } from '@holdpoint/infra/nats/config';
import { connectAs } from '@holdpoint/infra/nats/connect';
import { jetstreamManager } from '@nats-io/jetstream';
import type { Run } from './run.ts';
import { until } from '../until.ts';

export type NatsCluster = {
  /** The URLs of all servers, separated by commas. */
  readonly url: string;
  /** SIGKILL. */
  readonly kill: (server: number) => Promise<void>;
  readonly remove: () => Promise<void>;
};

const SERVERS = [0, 1, 2] as const;

type Program = Extract<NatsProgram, { readonly kind: 'binary' }>;

/** Undefined if NATS runs in containers, because its servers could not reach one another. */
export const programOf = ({ nats }: Run): Program | undefined => (nats?.kind === 'binary' ? nats : undefined);

/**
 * Three servers that replicate streams, with the configuration that `holdpoint provision nats` prints
 * for a cluster.
 */
export const startNatsCluster = async (run: Run, program: Program, folder: string): Promise<NatsCluster> => {
  // Six free ports.
  const free = await choosePorts();
  const clientPorts = [free.nats, free.natsMonitor, free.postgres];
  const routePorts = [free.orchestrator, free.approvals, free.executor];
  const routes = routePorts.map((port) => `nats://127.0.0.1:${String(port)}`);
  const publicKeys = await readPublicNkeys(run.credentialsDir);
  const launch = async (server: number): Promise<Child> => {
    const dir = join(folder, `nats-${String(server)}`);
    await mkdir(dir, { recursive: true });
    const text = renderServerConfig({
      publicKeys,
      host: '127.0.0.1',
      port: clientPorts[server] ?? 0,
      storeDir: dir,
      serverName: `nats-${String(server)}`,
      cluster: { name: 'holdpoint', host: '127.0.0.1', port: routePorts[server] ?? 0, routes },
      streamReplicas: SERVERS.length,
    });
    const file = join(dir, 'nats-server.conf');
    await writeFile(file, text, { mode: 0o600 });
    const logFile = join(folder, `nats-${String(server)}.log`);
    return startChild({ name: 'nats', command: program.path, args: ['-c', file], logFile });
  };
  const children: Child[] = [];
  for (const server of SERVERS) children.push(await launch(server));
  const url = clientPorts.map((port) => `nats://127.0.0.1:${String(port)}`).join(',');

  const { credentialsDir } = run;
  await until('the cluster has a leader', async () => {
    const connection = await connectAs({ url, credentialsDir, user: 'topology' });
    try {
      await (await jetstreamManager(connection, { checkAPI: false })).getAccountInfo();
      return true;
    } finally {
      await connection.close();
    }
  });

  return {
    url,
    kill: async (server) => void (await children[server]?.stop([['SIGKILL', 10_000]])),
    remove: async () => void (await Promise.all(children.map((child) => child.stop()))),
  };
};
