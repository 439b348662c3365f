import { filters } from '@holdpoint/contracts/bus/subjects';
import { connectAs } from '@holdpoint/infra/nats/connect';
import { z } from 'zod';
import { startFaultProxy } from '../fault-proxy.ts';
import { defineFault } from './fault.ts';

/** Watchers that subscribe to everything and read nothing. They must not slow down other clients. */
export const slowWatcher = defineFault({
  name: 'slow-watcher',
  group: 'consumer',
  params: z.object({ watchers: z.int().min(1).max(50), forMs: z.int().min(1) }),
  draw: (random) => ({ watchers: random.int(3, 10), forMs: random.int(8_000, 25_000) }),
  takes: () => ['watchers'],
  inject: async ({ watchers, forMs }, { deployment, hold }) => {
    const { hostname, port } = new URL(deployment.natsUrl);
    const proxy = await startFaultProxy(hostname, Number(port));
    const url = `nats://${proxy.host}:${String(proxy.port)}`;
    const user = { url, credentialsDir: deployment.credentialsDir, user: 'operator' } as const;
    const connections = await Promise.all(Array.from({ length: watchers }, () => connectAs(user)));
    try {
      for (const connection of connections)
        connection.subscribe(filters.events, { callback: () => undefined });
      await Promise.all(connections.map((connection) => connection.flush()));
      proxy.blackhole(['to_client']);
      await hold(forMs);
    } finally {
      proxy.heal();
      await Promise.allSettled(connections.map((connection) => connection.close()));
      await proxy.close();
    }
  },
});
