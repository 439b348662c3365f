import { CORE_SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { poll } from '@holdpoint/infra/local/poll';
import { z } from 'zod';
import type { Deployment } from '../deployment/deployment.ts';
import { defineFault, processesWith } from './fault.ts';

/** The services of each new process. All three are in them, so that no service is left without an owner. */
const GROUPINGS: (typeof CORE_SERVICES)[number][][][] = [
  [[...CORE_SERVICES]],
  [['orchestrator', 'approvals'], ['recovery']],
  [['orchestrator', 'recovery'], ['approvals']],
  CORE_SERVICES.map((service) => [service]),
];
const TAKEN_WITHIN_MS = 30_000;

/** A process names itself in its leases with its pid. */
const owns = async ({ query }: Deployment, service: ServiceName, pid: number): Promise<true | undefined> => {
  const [row] = await query(`SELECT owner FROM ${service}.ownership WHERE until > clock_timestamp()`);
  return String(row?.['owner']).includes(`-${String(pid)}-`) ? true : undefined;
};

/**
 * Services move into processes of other groupings while tasks run, and back. The earlier owners end in order, or freeze and
 * wake up when other processes own their services.
 */
export const changeForm = defineFault({
  name: 'change-form',
  group: 'upgrade',
  params: z.object({
    groups: z.array(z.array(z.enum(CORE_SERVICES)).min(1)),
    how: z.enum(['stop', 'freeze']),
    forMs: z.int().min(1),
  }),
  draw: (random) => ({
    groups: random.pick(GROUPINGS),
    how: random.pick(['stop', 'freeze'] as const),
    forMs: random.int(2_000, 10_000),
  }),
  whyNot: ({ whyNoProcess }) => whyNoProcess,
  takes: () => ['nats', 'postgres', 'upgrade', ...CORE_SERVICES.flatMap(processesWith)],
  inject: async ({ groups, how, forMs }, { deployment, hold, step }) => {
    const earlier = deployment.instances.filter(({ services }) =>
      services.some((service) => CORE_SERVICES.some((core) => core === service)),
    );
    const added = await Promise.all(
      groups.map((services, i) =>
        deployment.startProcess({ name: `form-${String(step)}-${String(i + 1)}`, services }),
      ),
    );
    const becomesOwner = async (service: ServiceName, pid: number): Promise<void> => {
      await poll(() => owns(deployment, service, pid), {
        timeoutMs: TAKEN_WITHIN_MS,
        what: `the added process owns ${service}`,
      });
    };
    try {
      const back =
        how === 'stop'
          ? Promise.all(earlier.map(({ name }) => deployment.restart(name)))
          : Promise.all(earlier.map(({ name }) => deployment.pause(name)));
      try {
        await Promise.all(
          groups.flatMap((services, i) =>
            services.map((service) => becomesOwner(service, added[i]?.pid() ?? NaN)),
          ),
        );
        await hold(forMs);
      } finally {
        await back;
        if (how === 'freeze') for (const { name } of earlier) await deployment.resume(name);
      }
    } finally {
      await Promise.all(added.map(({ stop }) => stop()));
    }
    return { moved: groups.flat() };
  },
});
