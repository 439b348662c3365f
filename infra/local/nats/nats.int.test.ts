import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { generateCredentials } from '../../credentials/generate.ts';
import { connectAs } from '../../nats/connect.ts';
import { findNats, natsSearchOf } from './nats-program.ts';
import { startNats } from './configured-nats.ts';
import type { NatsOptions } from './configured-nats.ts';
import type { NatsServer } from './nats.ts';
import { choosePorts } from '../ports.ts';
import { silent } from '../progress.ts';

let dir = '';
const servers: NatsServer[] = [];
const program = await findNats(natsSearchOf(process.env), silent);

const options = (port: number): NatsOptions => ({
  program,
  dir: join(dir, 'nats'),
  credentialsDir: join(dir, 'credentials'),
  port,
  logFile: join(dir, 'nats.log'),
});

const start = async (more: NatsOptions): Promise<NatsServer> => {
  const server = await startNats(more);
  servers.push(server);
  return server;
};

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdpoint-nats-'));
  await generateCredentials(join(dir, 'credentials'));
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  await rm(dir, { recursive: true, force: true });
}, 60_000);

const as = (server: NatsServer, user: 'topology' | 'executor') =>
  connectAs({ url: server.url, credentialsDir: join(dir, 'credentials'), user });

test('a stream outlives a kill of the server, on the same port and files', { timeout: 60_000 }, async () => {
  const server = await start(options((await choosePorts()).nats));
  const before = await as(server, 'topology');
  const manager = await jetstreamManager(before);
  await manager.streams.add({ name: 'HP_EVT', subjects: ['hp.evt.>'] });
  const executor = await as(server, 'executor');
  expect((await jetstream(executor).publish('hp.evt.effect.applied.e-1', '{}')).seq).toBe(1);
  await Promise.all([before.close(), executor.close()]);
  expect(await readdir(server.storeDir)).not.toEqual([]);

  await server.kill();
  await server.start();
  const after = await as(server, 'topology');
  expect((await (await jetstreamManager(after)).streams.info('HP_EVT')).state.messages).toBe(1);
  await after.close();
});

test('a wiped server starts without streams', { timeout: 60_000 }, async () => {
  const server = await start(options((await choosePorts()).nats));
  const before = await as(server, 'topology');
  await (await jetstreamManager(before)).streams.add({ name: 'HP_EVT', subjects: ['hp.evt.>'] });
  await before.close();

  await server.kill();
  await server.wipe();
  await server.start();
  const after = await as(server, 'topology');
  await expect((await jetstreamManager(after)).streams.info('HP_EVT')).rejects.toThrow('stream not found');
  await after.close();
});

test(
  'the error of a taken port names the log, even if another NATS answers there',
  { timeout: 60_000 },
  async () => {
    const { nats: port } = await choosePorts();
    await start(options(port));
    const second = { ...options(port), dir: join(dir, 'second'), logFile: join(dir, 'second.log') };
    await expect(startNats(second)).rejects.toThrow(/nats-server ended at once, see .*second\.log/);
  },
);
