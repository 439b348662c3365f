import { CORE_SERVICES } from '@holdpoint/contracts/bus/subjects';
import { z } from 'zod';
import { defineFault } from './fault.ts';

/**
 * The lease of a service is that of a backup: an owner of long ago holds it, at an earlier epoch. The owner of today must be
 * fenced, and one process must take the lease over.
 */
export const leaseSetBack = defineFault({
  name: 'lease-set-back',
  group: 'postgres',
  params: z.object({ service: z.enum(CORE_SERVICES), back: z.int().min(1) }),
  draw: (random) => ({ service: random.pick(CORE_SERVICES), back: random.int(1, 5) }),
  takes: () => ['postgres'],
  inject: async ({ service, back }, { deployment }) => {
    const [row] = await deployment.query(
      `WITH past AS (UPDATE ${service}.ownership SET owner = 'of the backup', epoch = greatest(0, epoch - ${String(back)}),
         until = clock_timestamp() + interval '1 second', session = NULL RETURNING epoch)
       SELECT epoch::int AS epoch FROM past`,
    );
    return { epoch: Number(row?.['epoch']) };
  },
});
