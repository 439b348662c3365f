import { z } from 'zod';
import { defineFault } from './fault.ts';

const params = z.object({ instance: z.string(), forMs: z.int().min(1) });

/** SIGSTOP, and SIGCONT later: it wakes up with a view that is long out of date. Some sleep past the lease of 10 s. */
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

/** Asleep past the 30 s after which the bus gives its messages to somebody else. */
export const pauseConsumer = defineFault({
  name: 'pause-consumer',
  group: 'consumer',
  params,
  draw: (random, { instances }) => ({ instance: random.pick(instances), forMs: random.int(31_000, 40_000) }),
  takes: ({ instance }) => [instance],
  inject: pauseService.inject,
});
