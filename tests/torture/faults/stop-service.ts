import { z } from 'zod';
import { defineFault } from './fault.ts';

/** SIGTERM: the process finishes its work, and its successor takes over. */
export const stopService = defineFault({
  name: 'stop-service',
  group: 'process',
  params: z.object({ instance: z.string() }),
  draw: (random, { instances }) => ({ instance: random.pick(instances) }),
  takes: ({ instance }) => [instance],
  inject: (params, { deployment }) => deployment.restart(params.instance),
});
