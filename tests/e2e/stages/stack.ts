import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type ServiceName, SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { Stack } from '../../conformance/support/stack.ts';
import type { ServiceProcess } from '../../kit/stack/as-process.ts';
import { createSystem } from '../../kit/stack/system.ts';

/** Random numbers from 0 up to 1. */
export type Chance = () => number;

/** All services as processes that are restarted when they end. */
export type KillableStack = Stack & { readonly services: ReadonlyMap<ServiceName, ServiceProcess> };

export const startKillableStack = async (): Promise<KillableStack> => {
  const system = await createSystem();
  const repositories = join(system.folder, 'repositories');
  mkdirSync(repositories);
  try {
    const spawned = await Promise.all(
      SERVICES.map(async (name) => {
        const env = name === 'executor' ? { HOLDPOINT_REPOSITORIES: repositories } : {};
        return [name, await system.spawn(name, { env })] as const;
      }),
    );
    const services = new Map(spawned);
    const executor = services.get('executor');
    if (executor === undefined) throw new Error('no executor among the services');
    await Promise.all(spawned.map(([, service]) => service.started()));
    return { system, repositories, executor, services, stop: system.stop };
  } catch (error) {
    await system.stop();
    throw error;
  }
};
