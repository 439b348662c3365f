import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { streams } from '@holdpoint/contracts/bus/streams';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { createUndo } from '@holdpoint/infra/local/undo';
import { connectAs } from '@holdpoint/infra/nats/connect';
import { jetstreamManager } from '@nats-io/jetstream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { connectClient } from '../../kit/bus/client.ts';
import { programOf, startNatsCluster } from '../../kit/stack/nats-cluster.ts';
import { currentRun } from '../../kit/stack/run.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approveAndComplete, submitSample } from '../../kit/tasks/tasks.ts';
import { until } from '../../kit/until.ts';

const program = programOf(currentRun());
if (program === undefined)
  process.stderr.write('a cluster of NATS servers was not tried, because they run in containers\n');

const names = streams.map(({ name }) => name);

let system: System;
const undo = createUndo();
beforeEach(async () => {
  system = await createSystem();
});
afterEach(async () => {
  // Services stop first, because they wait for the servers only.
  await system.stop();
  await undo.run();
});

/** The number of replicas of each stream, as one server reports it. */
const replicasOf = async (url: string): Promise<Readonly<Record<string, number>>> => {
  const { credentialsDir } = system.run;
  const connection = await connectAs({ url, credentialsDir, user: 'topology' });
  try {
    const { streams: api } = await jetstreamManager(connection, { checkAPI: false });
    const configs = await Promise.all(names.map(async (name) => (await api.info(name)).config));
    return Object.fromEntries(configs.map(({ name, num_replicas }) => [name, num_replicas]));
  } finally {
    await connection.close();
  }
};

const each = (replicas: number) => Object.fromEntries(names.map((name) => [name, replicas]));

/** A stream without a leader gives no answer for a moment. */
const untilOnThree = async (url: string): Promise<void> =>
  void (await until('every stream is on three servers', async () => {
    const found = await replicasOf(url);
    return names.every((name) => found[name] === 3) ? true : undefined;
  }));

test('a single server keeps one replica of each stream', async () => {
  await system.start('orchestrator');
  expect(await replicasOf(system.nats.url)).toEqual(each(1));
});

test('a number of replicas other than 1, 3 and 5 is a wrong setting', async () => {
  for (const replicas of ['2', '4', '0', 'three'])
    await expect(system.start('orchestrator', { HOLDPOINT_STREAM_REPLICAS: replicas })).rejects.toThrow(
      'HOLDPOINT_STREAM_REPLICAS: 1, 3 or 5',
    );
});

describe.skipIf(program === undefined)('on a cluster of three servers', () => {
  test('every stream, also an older one, gets its replicas, and the loss of one server stops nothing', async () => {
    if (program === undefined) throw new Error('skipped');
    const { run } = system;
    const cluster = await startNatsCluster(run, program, await mkdtemp(join(run.folder, 'cluster-')));
    undo.add(cluster.remove);
    const env = { HOLDPOINT_NATS_URL: cluster.url };

    const alone = await system.start('orchestrator', env);
    expect(await replicasOf(cluster.url)).toEqual(each(1));
    await alone.stop();

    const replicated = { ...env, HOLDPOINT_STREAM_REPLICAS: '3' };
    await Promise.all(SERVICES.map((service) => system.start(service, replicated)));
    await untilOnThree(cluster.url);

    const client = await connectClient(cluster.url, run.credentialsDir);
    undo.add(client.close);
    const before = await submitSample(client);
    await cluster.kill(0);
    await approveAndComplete(client, await submitSample(client));
    await approveAndComplete(client, before);
    await untilOnThree(cluster.url);
  });
});
