import { setTimeout as sleep } from 'node:timers/promises';
import { type ServiceName, SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { ServiceProcess } from '../../kit/stack/as-process.ts';
import type { Chance } from './stack.ts';

const PAUSE_MIN_MS = 2_000;
const PAUSE_MAX_MS = 4_000;
/**
 * How many kills wait until the last victim runs again: with slow starts, no service would make progress
 * otherwise.
 */
const PATIENCE = 0.75;

/**
 * Kills one service after the other at random moments until it is stopped. Returns the number of kills of
 * each service.
 */
export const startKilling = (
  services: ReadonlyMap<ServiceName, ServiceProcess>,
  chance: Chance,
): (() => Promise<ReadonlyMap<ServiceName, number>>) => {
  const kills = new Map<ServiceName, number>();
  const ending = new AbortController();
  const kill = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      // The random moment is the purpose of this delay; it waits for no event.
      await sleep(PAUSE_MIN_MS + chance() * (PAUSE_MAX_MS - PAUSE_MIN_MS), undefined, {
        signal: ending.signal,
      }).catch(() => undefined);
      const victim = SERVICES[Math.floor(chance() * SERVICES.length)];
      if (ending.signal.aborted || victim === undefined) return;
      services.get(victim)?.signal('SIGKILL');
      kills.set(victim, (kills.get(victim) ?? 0) + 1);
      if (chance() < PATIENCE) await services.get(victim)?.started();
    }
  };
  const killing = kill();
  return async () => {
    ending.abort();
    await killing;
    return kills;
  };
};
