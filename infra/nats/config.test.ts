import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateCredentials } from '../credentials/generate.ts';
import { serverConfig } from './config.ts';

let credentials = '';
beforeAll(async () => {
  credentials = await mkdtemp(join(tmpdir(), 'holdpoint-nats-'));
  await generateCredentials(credentials);
});
afterAll(() => rm(credentials, { recursive: true, force: true }));

const configOf = (settings: Partial<Parameters<typeof serverConfig>[0]> = {}): Promise<string> =>
  serverConfig({
    credentials,
    host: '0.0.0.0',
    port: 4222,
    store: '/data/jetstream',
    sync: 'periodic',
    pools: 'default',
    clusterPort: 6222,
    routes: [],
    streamReplicas: 1,
    ...settings,
  });

const CLUSTER = {
  clusterName: 'holdpoint',
  routes: ['nats://nats-0:6222', 'nats://nats-1:6222', 'nats://nats-2:6222'],
};

const maxFileOf = (config: string): number => Number(/max_file: (\d+)MB/.exec(config)?.[1]);

test('a clustered server has its own name, routes to all servers, and storage for every replica', async () => {
  const alone = await configOf();
  const one = await configOf({ ...CLUSTER, serverName: 'nats-0', streamReplicas: 3 });
  expect(one).toContain('server_name: "nats-0"');
  expect(one).toContain('  listen: "0.0.0.0:6222"');
  expect(one).toContain(`  routes: [${CLUSTER.routes.map((route) => JSON.stringify(route)).join(', ')}]`);
  expect(maxFileOf(one)).toBe(3 * maxFileOf(alone));
  expect(alone).not.toContain('cluster');
});

test('a server of a cluster without a name of its own is refused', async () => {
  await expect(configOf(CLUSTER)).rejects.toThrow('--server-name');
});
