import type { AddGauge } from '@holdpoint/runtime/observability/metrics';
import type { Hono } from 'hono';
import type { SurfaceDeps } from '../surface-deps.ts';
import { createInteractionCounts } from './metrics.ts';
import { createDeliveries, type Deliveries } from './deliveries.ts';
import { createRest } from './rest.ts';
import { discordRoutes } from './interactions/routes.ts';
import type { DiscordSettings } from './settings.ts';

/** The Discord surface: sends messages with buttons, and receives the interactions. */
export type Discord = {
  readonly deliver: Deliveries['deliver'];
  readonly routes: Hono;
  /** Resolves once no delivery is running. Undelivered notices are repeated by their timers. */
  readonly stop: () => Promise<void>;
};

export const createDiscord = (deps: SurfaceDeps, settings: DiscordSettings, gauge: AddGauge): Discord => {
  const log = deps.log.child({ surface: 'discord' });
  const rest = createRest(settings, log);
  const deliveries = createDeliveries({ ...deps, log, rest });
  const counts = createInteractionCounts();
  gauge('discord_interactions', 'Discord interactions since the start by result', ['result'], counts.read);
  gauge('discord_circuit_open', 'Whether the circuit to Discord is open', [], () => [
    { labels: {}, value: rest.isOpen() ? 1 : 0 },
  ]);
  const { publicKey } = settings;
  return {
    deliver: deliveries.deliver,
    routes: discordRoutes({ deps: { ...deps, log }, deliveries, publicKey, counts }),
    stop: deliveries.stop,
  };
};
