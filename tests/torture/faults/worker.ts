import { z } from 'zod';
import type { Deployment } from '../deployment/deployment.ts';
import { defineFault } from './fault.ts';

const whyNot = ({ workers }: Deployment): string | undefined =>
  workers.length > 0 ? undefined : 'no workers and no claimants are started here';

/** SIGKILL to one or all workers and claimants. Others continue once the leases are over. */
export const workerKilled = defineFault({
  name: 'worker-killed',
  group: 'worker',
  weight: 2,
  params: z.object({ workers: z.array(z.string()).min(1) }),
  draw: (random, { workers }) => ({
    workers: random.chance(0.7) ? [random.pick(workers)] : [...workers],
  }),
  whyNot,
  takes: ({ workers }) => workers,
  inject: async ({ workers }, { deployment }) => {
    await Promise.all(workers.map((worker) => deployment.kill(worker)));
  },
});

/** SIGSTOP past the leases: a worker wakes up in phases that others have continued, a claimant with orders in doubt. */
export const workerFrozen = defineFault({
  name: 'worker-frozen',
  group: 'worker',
  params: z.object({ worker: z.string(), forMs: z.int().min(1) }),
  draw: (random, { workers }) => ({ worker: random.pick(workers), forMs: random.int(32_000, 45_000) }),
  whyNot,
  takes: ({ worker }) => [worker],
  inject: async ({ worker, forMs }, { deployment, hold }) => {
    await deployment.pause(worker);
    try {
      await hold(forMs);
    } finally {
      await deployment.resume(worker);
    }
  },
});
