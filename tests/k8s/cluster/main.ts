import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { messageOf, Problem } from '@holdpoint/infra/local/problem';
import { connectClient } from '../../kit/bus/client.ts';
import { until } from '../../kit/until.ts';
import { type Cluster, findCluster } from './cluster.ts';
import { compare, countLines } from './counted.ts';
import { applications, counterOrigin } from './counter.ts';
import {
  apply,
  install,
  killOneByOne,
  KILLED,
  noise,
  readFromPod,
  remove,
  rollAll,
  say,
  upgrade,
  valuesOf,
} from './deployment.ts';
import { buildNext, buildNow, IMAGES, TAGS } from './images.ts';
import { type Load, runLoad } from './load.ts';

/**
 * Installs the chart in a real cluster, and breaks, rolls, upgrades and shrinks it while tasks run: nothing is lost, nothing is done
 * twice, and every end is explained.
 */
const EXIT = { held: 0, broken: 1, failed: 2 } as const;

const step = async <Result>(label: string, work: () => Promise<Result>): Promise<Result> => {
  const started = performance.now();
  try {
    return await work();
  } finally {
    say(`  ${label}: ${((performance.now() - started) / 1_000).toFixed(1)} s`);
  }
};

const exercise = async (cluster: Cluster, folder: string, namespace: string): Promise<boolean> => {
  const credentials = await step('install and wait for ready', () => install(cluster, folder, namespace));
  const start = await noise(cluster);
  say(
    `  start-up: ${String(start.restarts)} restarts, ${String(start.missingTables)} lines about missing tables`,
  );
  const { port, stop } = await cluster.forward('service/nats', 4222);
  const client = await until('the bus answers', () =>
    connectClient(`nats://127.0.0.1:${String(port)}`, credentials),
  );
  const loads: Load[] = [];
  const under = async (
    label: string,
    count: number,
    everyMs: number,
    fault: () => Promise<unknown>,
  ): Promise<void> => {
    const [load] = await step(`${label}, with ${String(count)} tasks`, () =>
      Promise.all([runLoad(client, { count, everyMs, origin: counterOrigin(namespace) }), fault()]),
    );
    loads.push(load);
  };
  try {
    await under('nothing', 30, 100, () => Promise.resolve());
    await under(`deletion of ${KILLED.join(', ')} by force`, 300, 100, () => killOneByOne(cluster));
    await under('a rollout of every service', 90, 500, () => rollAll(cluster));
    let migrated: readonly string[] = [];
    await under(
      'an upgrade with a migration',
      90,
      500,
      async () => (migrated = await upgrade(cluster, folder, namespace)),
    );
    say(`  migrated: ${migrated.join(', ')}`);
    await under('one executor less', 90, 300, () =>
      apply(cluster, folder, valuesOf(namespace, TAGS.next, 1)),
    );
    const files = compare(
      loads.flatMap((load) => load.files.map(({ mark }) => mark)),
      countLines(await readFromPod(cluster)),
    );
    const requests = compare(
      loads.flatMap((load) => load.requests.map(({ mark }) => mark)),
      await applications(cluster),
    );
    const ends = loads.flatMap((load) => load.ends);
    const tasks = loads.reduce((sum, load) => sum + load.files.length + load.requests.length, 0);
    for (const [name, { lost, twice, strange }] of [
      ['lines', files],
      ['requests', requests],
    ] as const)
      say(
        `  ${name}: ${String(lost.length)} lost, ${String(twice.length)} twice, ${String(strange.length)} of no task`,
      );
    say(`  ${String(tasks - ends.length)} of ${String(tasks)} tasks completed`);
    for (const end of ends) say(`    ${end}`);
    const faults = [files, requests].flatMap(({ lost, twice, strange }) => [...lost, ...twice, ...strange]);
    return (
      faults.length === 0 &&
      ends.length === 0 &&
      start.missingTables === 0 &&
      SERVICES.every((name) => migrated.includes(name))
    );
  } finally {
    stop();
    await client.close();
  }
};

const main = async (): Promise<number> => {
  const namespace = `holdpoint-test-${randomBytes(3).toString('hex')}`;
  const cluster = await findCluster(process.env, namespace);
  if (typeof cluster === 'string') {
    say(`test:k8s: skipped, ${cluster}`);
    return EXIT.held;
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      say('leaving: removing everything');
      void remove(cluster, namespace).finally(() => process.exit(EXIT.failed));
    });
  const folder = mkdtempSync(join(tmpdir(), 'holdpoint-cluster-'));
  say(`The chart in a cluster, in the namespace ${namespace}`);
  try {
    await step('build the images of two releases', async () => {
      await buildNow();
      await buildNext();
    });
    await step('load the images', async () => {
      for (const image of Object.values(IMAGES)) await cluster.load(image);
    });
    const held = await exercise(cluster, folder, namespace);
    say(held ? 'Nothing was lost, nothing was done twice, every task completed.' : 'A promise was broken.');
    if (!held) await showState(cluster);
    return held ? EXIT.held : EXIT.broken;
  } catch (error) {
    await showState(cluster);
    throw error;
  } finally {
    rmSync(folder, { recursive: true });
    await step('remove everything', () => remove(cluster, namespace));
  }
};

const showState = async ({ kubectl }: Cluster): Promise<void> => {
  say(await kubectl(['get', 'pods,pvc', '--output', 'wide']).catch(messageOf));
  say(await kubectl(['get', 'events', '--field-selector', 'type=Warning']).catch(messageOf));
};

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(
    `holdpoint: ${error instanceof Problem ? error.message : String((error as Error).stack)}\n`,
  );
  process.exitCode = EXIT.failed;
}
// Pending timers and sockets must not delay the exit.
process.exit();
