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

/**
 * The power fails: streams lose the messages that were not yet on the disk, and consumers keep positions beyond their
 * ends.
 */
export const natsPowerCut = defineFault({
  name: 'nats-power-cut',
  group: 'nats',
  params: z.object({ lostMs: z.int().min(0), forMs: z.int().min(0) }),
  draw: (random) => ({ lostMs: random.int(200, 3_000), forMs: random.int(0, 3_000) }),
  whyNot: ({ nats }) => nats.whyNoCopy,
  takes: () => ['nats', DATA],
  inject: async ({ lostMs, forMs }, { deployment: { nats }, hold }) => {
    await nats.copyMessages();
    await hold(lostMs);
    await nats.kill();
    try {
      await nats.loseTail();
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
