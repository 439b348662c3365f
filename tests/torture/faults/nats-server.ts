import { z } from 'zod';
import { DATA, defineFault } from './fault.ts';

const away = z.object({ forMs: z.int().min(0) });

/** A short outage of the bus: a kill that loses acknowledgements, or a clean stop. */
export const natsRestart = defineFault({
  name: 'nats-restart',
  group: 'nats',
  weight: 2,
  params: z.object({ how: z.enum(['kill', 'stop']), forMs: z.int().min(0) }),
  draw: (random) => ({ how: random.pick(['kill', 'stop'] as const), forMs: random.int(0, 6_000) }),
  takes: () => ['nats'],
  inject: async ({ how, forMs }, { deployment: { nats }, hold }) => {
    await nats[how]();
    try {
      await hold(forMs);
    } finally {
      await nats.start();
    }
  },
});

/** JetStream loses streams, consumers and unread messages. */
export const natsWipe = defineFault({
  name: 'nats-wipe',
  group: 'nats',
  params: away,
  draw: (random) => ({ forMs: random.int(0, 3_000) }),
  takes: () => ['nats', DATA],
  inject: async ({ forMs }, { deployment: { nats }, hold }) => {
    await nats.kill();
    try {
      await nats.wipe();
      await hold(forMs);
    } finally {
      await nats.start();
    }
  },
});

/** The server hangs. It stores what it received once it wakes up. */
export const natsPause = defineFault({
  name: 'nats-pause',
  group: 'nats',
  params: away,
  draw: (random) => ({ forMs: random.chance(0.7) ? random.int(500, 5_000) : random.int(12_000, 20_000) }),
  whyNot: ({ nats }) => nats.whyNoPause,
  takes: () => ['nats'],
  inject: async ({ forMs }, { deployment: { nats }, hold }) => {
    await nats.pause();
    try {
      await hold(forMs);
    } finally {
      await nats.resume();
    }
  },
});
