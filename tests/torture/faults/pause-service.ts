import { z } from 'zod';
import { defineFault } from './fault.ts';

const params = z.object({ instance: z.string(), forMs: z.int().min(1) });

/** SIGSTOP and later SIGCONT, for some past the lease of 10 s. */
export const pauseService = defineFault({
  name: 'pause-service',
  group: 'process',
  weight: 2,
  params,
  draw: (random, { instances }) => ({
    instance: random.pick(instances),
    forMs: random.chance(0.5) ? random.int(500, 8_000) : random.int(11_000, 20_000),
  }),
  takes: ({ instance }) => [instance],
  inject: async ({ instance, forMs }, { deployment, hold }) => {
    await deployment.pause(instance);
    try {
      await hold(forMs);
    } finally {
      await deployment.resume(instance);
    }
  },
});

/** SIGSTOP past the 30 s after which the bus redelivers. */
export const pauseConsumer = defineFault({
  name: 'pause-consumer',
  group: 'consumer',
  params,
  draw: (random, { instances }) => ({ instance: random.pick(instances), forMs: random.int(31_000, 40_000) }),
  takes: ({ instance }) => [instance],
  inject: pauseService.inject,
});
