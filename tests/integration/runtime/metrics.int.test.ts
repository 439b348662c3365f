import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approveAndComplete, decide, submitSample, waitForRequest } from '../../kit/tasks/tasks.ts';
import { until } from '../../kit/until.ts';
import { figureOf, metricsAskedFor, metricsExplained, shownIn } from '../../repo/metrics.ts';

let system: System;
let urls: readonly string[];
beforeAll(async () => {
  system = await createSystem();
  const started = await system.startAll();
  urls = SERVICES.map((service) => `http://127.0.0.1:${String(started[service].httpPort)}/metrics`);
});
afterAll(() => system.stop());

const shownByAll = async () =>
  shownIn((await Promise.all(urls.map(async (url) => (await fetch(url)).text()))).join('\n'));

/** What is there only with a surface that this system does not have. */
const ELSEWHERE = /^holdpoint_discord_/;
/** Garbage is collected when it has to be. */
const IN_TIME = /^nodejs_gc_/;

test('every figure that alarms and panels ask for is shown, and all that are shown are explained', async () => {
  const { client } = system;
  await approveAndComplete(client, await submitSample(client));
  const rejected = await submitSample(client);
  await decide(client, rejected, 'reject');
  const failing = await submitSample(client, '../outside.txt');
  await waitForRequest(client, failing);
  await decide(client, failing);
  // Executors show the circuits that they have heard of.
  await client.ask('recovery', 'circuit', {
    target: 'https://target.example',
    state: 'open',
    reason: 'they move',
    by: 'ada',
  });

  const explained = new Set(metricsExplained());
  const expected = [...explained].filter((name) => !IN_TIME.test(name) && !ELSEWHERE.test(name));
  let missing: readonly string[] = [];
  const shown = await until('every figure is there', async () => {
    const now = await shownByAll();
    missing = [
      ...metricsAskedFor().filter((name) => !now.lines.has(name)),
      ...expected.filter((name) => !now.figures.has(name)),
    ];
    return missing.length === 0 ? now : undefined;
  }).catch((cause: unknown) => {
    throw new Error(`not shown: ${missing.join(', ')}`, { cause });
  });
  expect([...shown.figures].filter((name) => !explained.has(name))).toEqual([]);
  expect(metricsAskedFor().filter((name) => !explained.has(figureOf(name, explained)))).toEqual([]);
});
