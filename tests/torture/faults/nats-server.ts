import { z } from 'zod';
import { DATA, defineFault } from './fault.ts';

const away = z.object({ forMs: z.int().min(0) });

/** The bus is away for a moment: killed, so that acknowledgements are lost, or stopped as it should be. */
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

/** Everything that JetStream has stored is gone: streams, consumers, and all that was not yet read. */
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

/** The server neither answers nor goes away. What was sent to it meanwhile is stored when it wakes up. */
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
