import { symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approveAndComplete, decide, submitSample, waitForRequest } from '../../kit/tasks/tasks.ts';
import { until } from '../../kit/until.ts';
import { metricOf, metricsUsed, metricsDocumented, exposedIn } from '../../repo/metrics.ts';

let system: System;
let urls: readonly string[];
beforeAll(async () => {
  system = await createSystem();
  const started = await system.startAll();
  urls = SERVICES.map((service) => `http://127.0.0.1:${String(started[service].httpPort)}/metrics`);
});
afterAll(() => system.stop());

const exposedByAll = async () =>
  exposedIn((await Promise.all(urls.map(async (url) => (await fetch(url)).text()))).join('\n'));

/** Metrics of surfaces that this system does not have. */
const OTHER_SURFACES = /^holdpoint_discord_/;
/** These appear with the first garbage collection. */
const WITH_GC = /^nodejs_gc_/;

test('every metric of the alarms and dashboards exists, and every metric is documented', async () => {
  const { client } = system;
  await approveAndComplete(client, await submitSample(client));
  const rejected = await submitSample(client);
  await decide(client, rejected, 'reject');
  // Only the executor sees that this path leads out of its workspace.
  await symlink(tmpdir(), join(system.workspace, 'out'));
  const failing = await submitSample(client, 'out/outside.txt');
  await waitForRequest(client, failing);
  await decide(client, failing);
  // Executors expose only circuits that recovery has announced.
  await client.ask('recovery', 'circuit', {
    target: 'https://target.example',
    state: 'open',
    reason: 'they move',
  });

  const documented = new Set(metricsDocumented());
  const expected = [...documented].filter((name) => !WITH_GC.test(name) && !OTHER_SURFACES.test(name));
  let missing: readonly string[] = [];
  const exposed = await until('every metric is exposed', async () => {
    const now = await exposedByAll();
    missing = [
      ...metricsUsed().filter((name) => !now.lines.has(name)),
      ...expected.filter((name) => !now.metrics.has(name)),
    ];
    return missing.length === 0 ? now : undefined;
  }).catch((cause: unknown) => {
    throw new Error(`not exposed: ${missing.join(', ')}`, { cause });
  });
  expect([...exposed.metrics].filter((name) => !documented.has(name))).toEqual([]);
  expect(metricsUsed().filter((name) => !documented.has(metricOf(name, documented)))).toEqual([]);
});
