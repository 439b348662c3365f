import { dirname, join } from 'node:path';
import type { Foundation } from '@holdpoint/infra/local/foundation';
import type { Undo } from '@holdpoint/infra/local/undo';
import { createMessageCopy } from '../../kit/stack/message-copy.ts';
import type { Deployment, PostgresEnd, Upstream } from './deployment.ts';
import { mountTmpfs, type Tmpfs } from './tmpfs.ts';

/** Enough for a long run; unused space takes no memory. */
const NATS_DISK_MIB = 1_536;
const POSTGRES_DISK_MIB = 6_144;
const ENDS_WITHIN_MS = 30_000;

export type Disks = Readonly<Record<Upstream, Tmpfs | { readonly whyNot: string }>>;

const SIGNALS: Readonly<Record<PostgresEnd, NodeJS.Signals>> = {
  fast: 'SIGINT',
  immediate: 'SIGQUIT',
  kill: 'SIGKILL',
};

/** A disk of its own for each server, if possible. */
export const mountDisks = async (folder: string, undo: Undo): Promise<Disks> => {
  const disks = {
    nats: await mountTmpfs(join(folder, 'nats', 'jetstream'), NATS_DISK_MIB),
    postgres: await mountTmpfs(join(folder, 'postgres'), POSTGRES_DISK_MIB),
  };
  for (const disk of Object.values(disks)) if ('unmount' in disk) undo.add(disk.unmount);
  return disks;
};

/** The means to break the two servers. */
export const breakServers = (
  { nats, postgres }: Pick<Foundation, 'nats' | 'postgres'>,
  undo: Undo,
): Pick<Deployment, 'nats' | 'postgres'> => {
  if (nats === undefined) throw new Error('the torture needs a NATS server of its own');
  const { kill, stop, start, wipe, isContainer, storeDir } = nats;
  const copy = createMessageCopy(storeDir, join(dirname(dirname(storeDir)), 'nats-copy'));
  const resume = async () => nats.child().signal('SIGCONT');
  // A frozen server does not stop.
  if (!isContainer) undo.add(resume);
  return {
    nats: {
      kill,
      stop,
      start,
      wipe,
      copyMessages: copy.take,
      loseTail: copy.putBack,
      whyNoCopy: undefined,
      pause: async () => nats.child().signal('SIGSTOP'),
      resume,
      whyNoPause: isContainer ? 'nats-server runs in a container here' : undefined,
    },
    postgres: {
      end: async (how) =>
        void (await postgres.child().stop([
          [SIGNALS[how], ENDS_WITHIN_MS],
          ['SIGKILL', ENDS_WITHIN_MS],
        ])),
      start: postgres.start,
      revive: async () => {
        if (postgres.child().hasExited()) await postgres.start();
      },
    },
  };
};
