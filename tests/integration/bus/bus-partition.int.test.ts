import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startFaultProxy } from '../../torture/fault-proxy.ts';
import { generateCredentials } from '@holdpoint/infra/credentials/generate';
import { layout } from '@holdpoint/infra/credentials/layout';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { connectBus } from '@holdpoint/runtime/bus/connection';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { until, untilTrue } from '../../kit/until.ts';

let system: System;
beforeAll(async () => {
  system = await createSystem();
});
afterAll(() => system.stop());

/** The number of times the server closed an unauthenticated connection. */
const REFUSALS = 3;

test('a connection that the server closed several times after lost pings comes back', async () => {
  const { hostname, port } = new URL(system.nats.url);
  const proxy = await startFaultProxy(hostname, Number(port));
  const url = `nats://${proxy.host}:${String(proxy.port)}`;
  const seed = await readFile(layout(system.run.credentialsDir).natsSeed('approvals'));
  const connection = await connectBus({ url, seed, user: 'approvals' }, silentLogger());
  let refused = 0;
  void (async () => {
    for await (const status of connection.status()) if (status.type === 'error') refused += 1;
  })();
  proxy.blackhole(['to_server']);
  proxy.reset();
  await untilTrue('it was refused, or has given up', () => refused >= REFUSALS || connection.isClosed());
  proxy.heal();
  await until('it works again', async () => {
    if (connection.isClosed()) return 'given up';
    await connection.flush();
    return 'works';
  });
  expect(connection.isClosed()).toBe(false);
  await connection.close();
  await proxy.close();
});

test('a refused connection fails at once', async () => {
  const others = join(system.folder, 'others');
  await generateCredentials(others);
  const seed = await readFile(layout(others).natsSeed('approvals'));
  const settings = { url: system.nats.url, seed, user: 'approvals' };
  await expect(connectBus(settings, silentLogger())).rejects.toThrow(/Authorization/);
});
