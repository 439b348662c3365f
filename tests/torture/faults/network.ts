import { z } from 'zod';
import { type Deployment, type Upstream, UPSTREAMS } from '../deployment/deployment.ts';
import type { Direction, FaultProxy } from '../fault-proxy.ts';
import type { Random } from '../random.ts';
import { defineFault, type FaultContext, type Surroundings } from './fault.ts';

const at = { instance: z.string(), upstream: z.enum(['nats', 'postgres']) } as const;
const DIRECTIONS = ['to_server', 'to_client'] as const satisfies readonly Direction[];

const somewhere = (random: Random, { instances }: Surroundings) => ({
  instance: random.pick(instances),
  upstream: random.pick(UPSTREAMS),
});
const takes = ({ instance, upstream }: { readonly instance: string; readonly upstream: string }) => [
  `${instance}/${upstream}`,
];

const whyNot = ({ instances, link }: Deployment): string | undefined =>
  instances.every(({ name }) => link(name, 'nats') !== undefined)
    ? undefined
    : 'there is no proxy between services and servers here';

const linkOf = (
  { instance, upstream }: { readonly instance: string; readonly upstream: Upstream },
  { deployment }: FaultContext,
): FaultProxy => {
  const link = deployment.link(instance, upstream);
  if (link === undefined) throw new Error(`there is no proxy between ${instance} and ${upstream}`);
  return link;
};

export const delay = defineFault({
  name: 'delay',
  group: 'network',
  weight: 2,
  params: z.object({ ...at, delayMs: z.int().min(1), forMs: z.int().min(1) }),
  draw: (random, around) => ({
    ...somewhere(random, around),
    delayMs: random.pick([20, 100, 500, 2_000]),
    forMs: random.int(3_000, 15_000),
  }),
  whyNot,
  takes,
  inject: async ({ delayMs, forMs, ...place }, context) => {
    const link = linkOf(place, context);
    link.delay(delayMs);
    await context.hold(forMs);
    link.heal();
  },
});

/** A silent partition in one or both directions. */
export const partition = defineFault({
  name: 'partition',
  group: 'network',
  weight: 2,
  params: z.object({
    ...at,
    directions: z.array(z.enum(DIRECTIONS)).min(1),
    forMs: z.int().min(1),
    /** Waiting traffic arrives late, or its connections reset. */
    after: z.enum(['resume', 'reset']),
  }),
  draw: (random, around) => ({
    ...somewhere(random, around),
    directions: [...random.pick([DIRECTIONS, ['to_server'], ['to_client']] as const)],
    forMs: random.chance(0.6) ? random.int(1_000, 8_000) : random.int(11_000, 35_000),
    after: random.pick(['resume', 'reset'] as const),
  }),
  whyNot,
  takes,
  inject: async ({ directions, forMs, after, ...place }, context) => {
    const link = linkOf(place, context);
    link.blackhole(directions);
    await context.hold(forMs);
    if (after === 'reset') link.reset();
    link.heal();
  },
});

/** Connections reset, and new ones are refused for a while. */
export const refuse = defineFault({
  name: 'refuse',
  group: 'network',
  params: z.object({ ...at, forMs: z.int().min(0) }),
  draw: (random, around) => ({ ...somewhere(random, around), forMs: random.int(0, 10_000) }),
  whyNot,
  takes,
  inject: async ({ forMs, ...place }, context) => {
    const link = linkOf(place, context);
    link.refuse();
    link.reset();
    await context.hold(forMs);
    link.heal();
  },
});

/** The reply after which something is durable. */
const LAST_WORDS: Readonly<Record<Upstream, string>> = { postgres: 'COMMIT\0', nats: '"seq":' };

/** The n-th reply to a COMMIT or publish is lost with its connection. */
export const lostAnswer = defineFault({
  name: 'lost-answer',
  group: 'network',
  weight: 3,
  params: z.object({ ...at, n: z.int().min(1), withinMs: z.int().min(1) }),
  draw: (random, around) => ({ ...somewhere(random, around), n: random.int(1, 12), withinMs: 8_000 }),
  whyNot,
  takes,
  inject: async ({ n, withinMs, ...place }, context) => {
    const link = linkOf(place, context);
    const lost = link.cutOn('to_client', LAST_WORDS[place.upstream], n).then(() => true);
    const happened = await Promise.race([lost, context.hold(withinMs).then(() => false)]);
    link.heal();
    return { happened };
  },
});
