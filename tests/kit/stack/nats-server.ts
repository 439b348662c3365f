import { join } from 'node:path';
import { consumersFor, streams } from '@holdpoint/contracts/bus/streams';
import { readPublicNkeys } from '@holdpoint/infra/credentials/read';
import { startNats } from '@holdpoint/infra/local/nats/configured-nats';
import { choosePorts } from '@holdpoint/infra/local/ports';
import { renderServerConfig } from '@holdpoint/infra/nats/config';
import { connectAs } from '@holdpoint/infra/nats/connect';
import { type BusAccess, busAccess } from '@holdpoint/infra/nats/accounts';
import { container, IMAGES, killable } from './containers.ts';
import { createMessageCopy } from './message-copy.ts';
import type { Run } from './run.ts';
import { until } from '../until.ts';

/** A NATS server that a test may break. */
export type NatsServer = {
  readonly url: string;
  readonly kill: () => Promise<void>;
  /** On the same port and files, after `kill`. */
  readonly start: () => Promise<void>;
  /** Kills the server, deletes all JetStream data, and starts it again on the same port. */
  readonly wipe: () => Promise<void>;
  /** Keeps a copy of all messages, for `loseTail`. Only for a server that runs as a process. */
  readonly copyMessages: () => Promise<void>;
  /**
   * Stops the server, puts the copied messages back, and starts it: streams have lost their tails, and consumers keep
   * their positions.
   */
  readonly loseTail: () => Promise<void>;
  /** Ends it permanently. */
  readonly remove: () => Promise<void>;
};

export type NatsServerOptions = {
  /** Gives the user `monitor` all rights in the account of the streams, like the owner of the server. */
  readonly almightyMonitor?: boolean;
  /** The pools that executors may read; the default one if omitted. */
  readonly pools?: readonly string[];
  /** The lines of operator mode, in place of accounts. */
  readonly accounts?: string;
};

const accountsOf = ({ accounts }: NatsServerOptions) => (accounts === undefined ? {} : { accounts });

const accessOf = ({ almightyMonitor = false, pools = [] }: NatsServerOptions): BusAccess =>
  busAccess({ streams, consumers: consumersFor(pools) }, { almighty: almightyMonitor ? ['monitor'] : [] });

const untilReady = (url: string, { credentialsDir }: Run): Promise<true> =>
  until('nats-server serves', async () => {
    await (await connectAs({ url, credentialsDir, user: 'topology' })).close();
    return true as const;
  });

const CONFIG = '/etc/nats/holdpoint.conf';

const inContainer = async (run: Run, options: NatsServerOptions): Promise<NatsServer> => {
  const { nats: port } = await choosePorts();
  const config = renderServerConfig({
    host: '0.0.0.0',
    port,
    storeDir: '/tmp/nats',
    publicKeys: await readPublicNkeys(run.credentialsDir),
    access: accessOf(options),
    ...accountsOf(options),
  });
  let url = '';
  const ready = (): Promise<true> => untilReady(url, run);
  const launch = async () => {
    const started = await container(IMAGES.nats, run.folder)
      .withCopyContentToContainer([{ content: config, target: CONFIG }])
      // A fixed port: Docker assigns another one when a container restarts.
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
      // The stored data is in the container and is removed with it.
      await current.remove();
      current = await launch();
    },
    copyMessages: () => Promise.reject(new Error('the files are in the container')),
    loseTail: () => Promise.reject(new Error('the files are in the container')),
    remove: () => current.remove(),
  };
};

const asProcess = async (run: Run, folder: string, options: NatsServerOptions): Promise<NatsServer> => {
  const { nats: program, credentialsDir } = run;
  if (program === undefined) throw new Error('the run has no program nats-server');
  const server = await startNats({
    program,
    credentialsDir,
    dir: join(folder, 'nats'),
    port: (await choosePorts()).nats,
    logFile: join(folder, 'nats.log'),
    access: accessOf(options),
    ...accountsOf(options),
  });
  const { url, kill, start, stop, wipe, storeDir: store } = server;
  const copy = createMessageCopy(store, join(folder, 'nats-copy'));
  return {
    url,
    kill,
    start,
    wipe: async () => {
      await kill();
      await wipe();
      await start();
    },
    copyMessages: copy.take,
    loseTail: async () => {
      // A server that is told to stop writes the positions of all consumers.
      await stop();
      await copy.putBack();
      await start();
    },
    remove: stop,
  };
};

export const startNatsServer = (
  run: Run,
  folder: string,
  options: NatsServerOptions = {},
): Promise<NatsServer> =>
  run.backend === 'docker' ? inContainer(run, options) : asProcess(run, folder, options);
