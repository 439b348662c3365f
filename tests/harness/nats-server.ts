import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { connectAs } from '@holdpoint/infra/nats/connect';
import { parseServerVersion, renderServerConfig } from '@holdpoint/infra/nats/config';
import { readPublicNkeys } from '@holdpoint/infra/credentials/read';
import { startNats } from '@holdpoint/infra/local/nats';
import { choosePorts } from '@holdpoint/infra/local/ports';
import { container, IMAGES, killable } from './containers.ts';
import type { Run } from './run.ts';
import { until } from './until.ts';

/** A NATS server that a test may break. */
export type NatsServer = {
  readonly url: string;
  readonly kill: () => Promise<void>;
  /** On the same port and files, after `kill`. */
  readonly start: () => Promise<void>;
  /** Kills the server, deletes everything that JetStream has stored, and starts it again on the same port. */
  readonly wipe: () => Promise<void>;
  /** Ends it for good. */
  readonly remove: () => Promise<void>;
};

const CONFIG = '/etc/nats/holdpoint.conf';

const inContainer = async ({ folder: runFolder, credentialsDir }: Run): Promise<NatsServer> => {
  const { nats: port } = await choosePorts();
  const config = renderServerConfig({
    version: parseServerVersion(IMAGES.nats.replace('nats:', 'v') + '.0'),
    publicKeys: await readPublicNkeys(credentialsDir),
    host: '0.0.0.0',
    port,
    storeDir: '/tmp/nats',
  });
  let url = '';
  const ready = (): Promise<unknown> =>
    until('nats-server serves', async () => {
      await (await connectAs({ url, credentialsDir, user: 'topology' })).close();
      return true;
    });
  const launch = async () => {
    const started = await container(IMAGES.nats, runFolder)
      .withCopyContentToContainer([{ content: config, target: CONFIG }])
      .withExposedPorts({ container: port, host: port })
      .withCommand(['-c', CONFIG])
      .start();
    url = `nats://${started.getHost()}:${String(port)}`;
    await ready();
    return killable(started);
  };
  let current = await launch();
  return {
    url,
    kill: () => current.kill(),
    start: async () => {
      await current.start();
      await ready();
    },
    wipe: async () => {
      // What it has stored is in the container, and goes with it.
      await current.remove();
      current = await launch();
    },
    remove: () => current.remove(),
  };
};

const asProcess = async ({ nats: program, credentialsDir }: Run, folder: string): Promise<NatsServer> => {
  if (program === undefined) throw new Error('the run has no nats-server');
  const { nats: port } = await choosePorts();
  const dir = join(folder, 'nats');
  await mkdir(dir, { recursive: true });
  const server = await startNats({ program, dir, credentialsDir, port, logFile: join(folder, 'nats.log') });
  return {
    url: server.url,
    kill: server.kill,
    start: server.start,
    wipe: async () => {
      await server.kill();
      await rm(server.storeDir, { recursive: true, force: true });
      await server.start();
    },
    remove: server.stop,
  };
};

export const startNatsServer = (run: Run, folder: string): Promise<NatsServer> =>
  run.backend === 'docker' ? inContainer(run) : asProcess(run, folder);
