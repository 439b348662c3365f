import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startNats } from '@holdpoint/infra/local/nats/nats';
import { findNats, natsSearchOf } from '@holdpoint/infra/local/nats/nats-program';
import { startPostgres } from '@holdpoint/infra/local/postgres/postgres';
import type { PostgresServer } from '@holdpoint/infra/local/postgres/postgres';
import { choosePorts } from '@holdpoint/infra/local/ports';
import type { Progress } from '@holdpoint/infra/local/progress';
import type { Deployment, Disk, PostgresEnd, Upstream } from './deployment.ts';
import { mountTmpfs, type Tmpfs } from './tmpfs.ts';

/** Enough for a long run; unused space takes no memory. */
const NATS_DISK_MIB = 1_536;
const POSTGRES_DISK_MIB = 6_144;
const ENDS_WITHIN_MS = 30_000;

type Place = Tmpfs | { readonly whyNot: string };

export type Servers = {
  readonly ports: { readonly nats: number; readonly postgres: number };
  readonly natsUrl: string;
  readonly natsOrigin: string;
  readonly postgres: PostgresServer;
  readonly breakNats: Deployment['nats'];
  readonly breakPostgres: Deployment['postgres'];
  readonly disk: (upstream: Upstream) => Disk | { readonly whyNot: string };
};

type Undo = (end: () => Promise<unknown>) => void;

const SIGNALS: Readonly<Record<PostgresEnd, NodeJS.Signals>> = {
  fast: 'SIGINT',
  immediate: 'SIGQUIT',
  kill: 'SIGKILL',
};

const breakable = (server: PostgresServer): Deployment['postgres'] => ({
  end: async (how) =>
    void (await server.child().stop([
      [SIGNALS[how], ENDS_WITHIN_MS],
      ['SIGKILL', ENDS_WITHIN_MS],
    ])),
  start: server.start,
  revive: async () => {
    if (server.child().hasExited()) await server.start();
  },
});

const unmountLater = (place: Place, undo: Undo): void => {
  if ('unmount' in place) undo(place.unmount);
};

/** PostgreSQL and NATS for this run, each on its own disk if possible. */
export const startServers = async (
  folder: string,
  credentialsDir: string,
  {
    env,
    progress,
    undo,
  }: { readonly env: NodeJS.ProcessEnv; readonly progress: Progress; readonly undo: Undo },
): Promise<Servers> => {
  const ports = await choosePorts();
  const logFile = (name: string): string => join(folder, 'logs', `${name}.log`);
  const program = await findNats(natsSearchOf(env), progress);
  const natsDir = join(folder, 'nats');
  const disks = {
    nats: await mountTmpfs(join(natsDir, 'jetstream'), NATS_DISK_MIB),
    postgres: await mountTmpfs(join(folder, 'postgres'), POSTGRES_DISK_MIB),
  };
  unmountLater(disks.nats, undo);
  unmountLater(disks.postgres, undo);

  const nats = await progress.step('starting NATS', () =>
    startNats({ program, dir: natsDir, credentialsDir, port: ports.nats, logFile: logFile('nats') }),
  );
  undo(async () => {
    if (program.kind === 'binary') nats.child().signal('SIGCONT');
    await nats.stop();
  });
  const postgres = await progress.step('starting PostgreSQL', () =>
    startPostgres({
      dataDir: join(folder, 'postgres', 'data'),
      credentialsDir,
      port: ports.postgres,
      logFile: logFile('postgres'),
    }),
  );
  undo(postgres.stop);

  return {
    ports: { nats: ports.nats, postgres: ports.postgres },
    natsUrl: nats.url,
    natsOrigin: nats.origin,
    postgres,
    breakNats: {
      kill: nats.kill,
      stop: nats.stop,
      start: nats.start,
      pause: async () => nats.child().signal('SIGSTOP'),
      resume: async () => nats.child().signal('SIGCONT'),
      // The folder may be a mount point: only its content is deleted.
      wipe: () => rm(join(nats.storeDir, 'jetstream'), { recursive: true, force: true }),
      whyNoPause: program.kind === 'binary' ? undefined : 'nats-server runs in a container here',
    },
    breakPostgres: breakable(postgres),
    disk: (upstream) => disks[upstream],
  };
};
