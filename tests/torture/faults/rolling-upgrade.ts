import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { z } from 'zod';
import { defineFault, processesWith } from './fault.ts';

/** A migration runs under load, then every instance is replaced in turn. */
export const rollingUpgrade = defineFault({
  name: 'rolling-upgrade',
  group: 'upgrade',
  params: z.object({ service: z.enum(SERVICES), pauseMs: z.int().min(0) }),
  draw: (random) => ({ service: random.pick(SERVICES), pauseMs: random.int(0, 1_500) }),
  // A migration needs the database, and a restart needs a running instance.
  takes: ({ service }) => ['postgres', 'upgrade', ...processesWith(service)],
  inject: async ({ service, pauseMs }, { deployment, hold, step }) => {
    await deployment.migrate(service, step);
    const replicas = deployment.instances.filter(({ services }) => services.includes(service));
    for (const { name } of replicas) {
      await deployment.restart(name);
      await hold(pauseMs);
    }
    return { migrated: service, restarted: replicas.length };
  },
});
