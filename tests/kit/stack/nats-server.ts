import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { consumersFor, streams } from '@holdpoint/contracts/bus/streams';
import { readPublicNkeys } from '@holdpoint/infra/credentials/read';
import { type Child, startChild } from '@holdpoint/infra/local/process/child';
import { choosePorts } from '@holdpoint/infra/local/ports';
import { renderServerConfig, type ServerSettings } from '@holdpoint/infra/nats/config';
import { connectAs } from '@holdpoint/infra/nats/connect';
import { busAccess } from '@holdpoint/infra/nats/accounts';
import { container, IMAGES, killable } from './containers.ts';
import type { Run } from './run.ts';
import { Hopeless, until } from '../until.ts';

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
};

const configOf = async (
  { credentialsDir }: Run,
  settings: Pick<ServerSettings, 'host' | 'port' | 'storeDir'>,
  { almightyMonitor = false, pools = [] }: NatsServerOptions,
): Promise<string> => {
  const declared = { streams, consumers: consumersFor(pools) };
  return renderServerConfig({
    ...settings,
    publicKeys: await readPublicNkeys(credentialsDir),
    access: busAccess(declared, { almighty: almightyMonitor ? ['monitor'] : [] }),
  });
};

const untilReady = (url: string, { credentialsDir }: Run, hasExited: () => boolean): Promise<true> =>
  until('nats-server serves', async () => {
    if (hasExited()) throw new Hopeless('nats-server has ended');
    await (await connectAs({ url, credentialsDir, user: 'topology' })).close();
    return true as const;
  });

const CONFIG = '/etc/nats/holdpoint.conf';

const inContainer = async (run: Run, options: NatsServerOptions): Promise<NatsServer> => {
  const { nats: port } = await choosePorts();
  const config = await configOf(run, { host: '0.0.0.0', port, storeDir: '/tmp/nats' }, options);
  let url = '';
  const ready = (): Promise<true> => untilReady(url, run, () => false);
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
  const program = run.nats;
  if (program?.kind !== 'binary') throw new Error('the run has no program nats-server');
  const { nats: port } = await choosePorts();
  const dir = join(folder, 'nats');
  await mkdir(dir, { recursive: true });
  const file = join(dir, 'nats-server.conf');
  const settings = { host: '127.0.0.1', port, storeDir: dir };
  await writeFile(file, await configOf(run, settings, options), { mode: 0o600 });
  const url = `nats://127.0.0.1:${String(port)}`;
  const launch = async (): Promise<Child> => {
    const spec = {
      name: 'nats',
      command: program.path,
      args: ['-c', file],
      logFile: join(folder, 'nats.log'),
    };
    const child = await startChild(spec);
    await untilReady(url, run, child.hasExited);
    return child;
  };
  let child = await launch();
  const store = join(dir, 'jetstream');
  const copy = join(folder, 'nats-copy');
  const kill = async (): Promise<void> => void (await child.stop([['SIGKILL', 10_000]]));
  const start = async (): Promise<void> => {
    child = await launch();
  };
  return {
    url,
    kill,
    start,
    wipe: async () => {
      await kill();
      await rm(join(dir, 'jetstream'), { recursive: true, force: true });
      await start();
    },
    copyMessages: async () => {
      await rm(copy, { recursive: true, force: true });
      for (const stream of await messageFolders(store)) {
        await mkdir(join(copy, stream), { recursive: true });
        await cp(join(store, stream), join(copy, stream), { recursive: true });
      }
    },
    loseTail: async () => {
      // A server that is told to stop writes the positions of all consumers.
      await child.stop();
      for (const stream of await messageFolders(copy)) {
        await rm(join(store, stream), { recursive: true });
        await cp(join(copy, stream), join(store, stream), { recursive: true });
      }
      await start();
    },
    remove: async () => void (await child.stop()),
  };
};

/** The folders with the messages of streams, below the folder of a server. */
const messageFolders = async (folder: string): Promise<readonly string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && entry.name === 'msgs')
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
};

export const startNatsServer = (
  run: Run,
  folder: string,
  options: NatsServerOptions = {},
): Promise<NatsServer> =>
  run.backend === 'docker' ? inContainer(run, options) : asProcess(run, folder, options);
