import { CORE_SERVICES, type ServiceName, SERVICES } from '@holdpoint/contracts/bus/subjects';
import { z } from 'zod';
import { defineFault } from './fault.ts';

const REPLICAS_MAX = 4;

/** In either form: a service of its own, or the core. */
const processesWith = (service: ServiceName): readonly string[] =>
  [service, ...CORE_SERVICES.filter((each) => each === service).map(() => 'core')].flatMap((process) =>
    Array.from({ length: REPLICAS_MAX }, (_, i) => `${process}-${String(i + 1)}`),
  );

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
