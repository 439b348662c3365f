import { CORE_SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { poll } from '@holdpoint/infra/local/poll';
import { z } from 'zod';
import type { AddedProcess, Deployment, Release } from '../deployment/deployment.ts';
import type { Random } from '../random.ts';
import { defineFault, type FaultContext, processesWith } from './fault.ts';

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

const params = z.object({
  groups: z.array(z.array(z.enum(CORE_SERVICES)).min(1)),
  how: z.enum(['stop', 'freeze']),
  forMs: z.int().min(1),
});
const drawFrom = (random: Random, groupings: typeof GROUPINGS): z.output<typeof params> => ({
  groups: random.pick(groupings),
  how: random.pick(['stop', 'freeze'] as const),
  forMs: random.int(2_000, 10_000),
});
const whyNot = ({ whyNoProcess }: Deployment): string | undefined => whyNoProcess;
const takes = (): readonly string[] => [
  'nats',
  'postgres',
  'upgrade',
  ...CORE_SERVICES.flatMap(processesWith),
];

/** Starts processes, and demands that they own the services. Returns when the earlier processes are back. */
const move = async (
  { groups, how, forMs }: z.output<typeof params>,
  { deployment, hold, step }: FaultContext,
  release: Release,
): Promise<void> => {
  const earlier = deployment.instances.filter(({ services }) =>
    services.some((service) => CORE_SERVICES.some((core) => core === service)),
  );
  const added: AddedProcess[] = [];
  const becomesOwner = async (service: ServiceName, pid: number): Promise<void> => {
    await poll(() => owns(deployment, service, pid), {
      timeoutMs: TAKEN_WITHIN_MS,
      what: `the added process owns ${service}`,
    });
  };
  try {
    for (const [i, services] of groups.entries())
      added.push(
        await deployment.startProcess(
          { name: `${release}-${String(step)}-${String(i + 1)}`, services },
          release,
        ),
      );
    // An executor of this release carries out orders beside it.
    if (release === 'next')
      added.push(
        await deployment.startProcess(
          { name: `next-${String(step)}-executor`, services: ['executor'] },
          release,
        ),
      );
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
};

/**
 * Services move into processes of other groupings while tasks run, and back. The earlier owners end in order, or freeze and
 * wake up when other processes own their services.
 */
export const changeForm = defineFault({
  name: 'change-form',
  group: 'upgrade',
  params,
  draw: (random) => drawFrom(random, GROUPINGS),
  whyNot,
  takes,
  inject: async (wanted, context) => {
    await move(wanted, context, 'this');
    return { moved: wanted.groups.flat() };
  },
});

/**
 * Processes of the next release run beside those of this one and own the services. Then the deployment goes back: this release reads
 * what the next one has sent and stored.
 */
export const nextRelease = defineFault({
  name: 'next-release',
  group: 'upgrade',
  params,
  // PostgreSQL has connections for three more processes, and one is an executor.
  draw: (random) =>
    drawFrom(
      random,
      GROUPINGS.filter(({ length }) => length < CORE_SERVICES.length),
    ),
  whyNot,
  takes,
  inject: async (wanted, context) => {
    await move(wanted, context, 'next');
    return { owned: wanted.groups.flat() };
  },
});
