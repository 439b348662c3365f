import { z } from 'zod';
import { defineFault } from './fault.ts';

/** SIGKILL, for one or several processes. */
export const killService = defineFault({
  name: 'kill-service',
  group: 'process',
  weight: 3,
  params: z.object({ instances: z.array(z.string()).min(1) }),
  draw: (random, { instances }) => {
    const count = random.weighted([1, 2, instances.length], (n) => (n === 1 ? 6 : n === 2 ? 3 : 1));
    return { instances: random.shuffle(instances).slice(0, count) };
  },
  takes: ({ instances }) => instances,
  inject: async ({ instances }, { deployment }) => {
    await Promise.all(instances.map((instance) => deployment.kill(instance)));
  },
});

/** A process that is killed again right after each start. */
export const killStorm = defineFault({
  name: 'kill-storm',
  group: 'process',
  params: z.object({ instance: z.string(), times: z.int().min(1), everyMs: z.int().min(1) }),
  draw: (random, { instances }) => ({
    instance: random.pick(instances),
    times: random.int(3, 6),
    everyMs: random.int(700, 2_500),
  }),
  takes: ({ instance }) => [instance],
  inject: async ({ instance, times, everyMs }, { deployment, hold }) => {
    for (let i = 0; i < times; i += 1) {
      await deployment.kill(instance);
      await hold(everyMs);
    }
  },
});
