import { z } from 'zod';
import type { Deployment, Upstream } from '../deployment/deployment.ts';
import { defineFault } from './fault.ts';

const params = z.object({ forMs: z.int().min(1) });

const whyNot =
  (upstream: Upstream) =>
  ({ disk }: Deployment): string | undefined => {
    const found = disk(upstream);
    return 'whyNot' in found ? found.whyNot : undefined;
  };

const diskOf = ({ disk }: Deployment, upstream: Upstream) => {
  const found = disk(upstream);
  if ('whyNot' in found) throw new Error(found.whyNot);
  return found;
};

/** No space for messages: publishing fails, and the server may stop answering. */
export const natsDiskFull = defineFault({
  name: 'nats-disk-full',
  group: 'disk',
  params,
  draw: (random) => ({ forMs: random.int(2_000, 10_000) }),
  whyNot: whyNot('nats'),
  takes: () => ['nats'],
  inject: async ({ forMs }, { deployment, hold }) => {
    const disk = diskOf(deployment, 'nats');
    await disk.fill();
    try {
      await hold(forMs);
    } finally {
      await disk.free();
      // A server with a failed store may not answer until its restart.
      await deployment.nats.kill();
      await deployment.nats.start();
    }
  },
});

/** No space for the database: it refuses writes, and stops when its log has no space. */
export const postgresDiskFull = defineFault({
  name: 'postgres-disk-full',
  group: 'disk',
  params,
  draw: (random) => ({ forMs: random.int(2_000, 10_000) }),
  whyNot: whyNot('postgres'),
  takes: () => ['postgres'],
  inject: async ({ forMs }, { deployment, hold }) => {
    const disk = diskOf(deployment, 'postgres');
    await disk.fill();
    try {
      await hold(forMs);
    } finally {
      await disk.free();
      await deployment.postgres.revive();
    }
  },
});
