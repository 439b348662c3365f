import { setTimeout as sleep } from 'node:timers/promises';
import { SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest';
import type { ServiceProcess } from '../kit/stack/as-process.ts';
import { createChance, seedOfRun } from '../kit/chance.ts';
import { expectAllDoneOnce, keepBusy } from '../kit/tasks/bulk-tasks.ts';
import { createSystem, type System } from '../kit/stack/system.ts';

let system: System;
const services = new Map<ServiceName, ServiceProcess>();
const seed = seedOfRun();
const chance = createChance(seed);

beforeAll(async () => {
  system = await createSystem({ shortTimers: true });
  for (const service of SERVICES) services.set(service, await system.spawn(service));
  await Promise.all([...services.values()].map(({ started }) => started()));
});
afterAll(() => system.stop());

const KILLS = 4;
/** The kills fall into the start, idle times and busy times. */
const PAUSE_MAX_MS = 1_500;

/** Kills a service at random moments chosen by the seed. */
const killAtRandom = async (victims: readonly ServiceProcess[]): Promise<void> => {
  for (let kill = 0; kill < KILLS; kill += 1) {
    // The random moment is the purpose of this delay; it waits for no event.
    await sleep(chance() * PAUSE_MAX_MS);
    for (const victim of victims) victim.signal('SIGKILL');
  }
};

const cases: readonly (readonly [string, readonly ServiceName[]])[] = [
  ...SERVICES.map((service) => [service, [service]] as const),
  ['all services at once', SERVICES],
];

test.each(cases)('%s: kill -9 at random moments only delays the tasks', async (_who, names) => {
  onTestFailed(() => console.error(`HOLDPOINT_TEST_SEED=${String(seed)}`));
  const victims = names.map((name) => services.get(name)).filter((each) => each !== undefined);
  const before = victims.map(({ exits }) => exits().length);
  const stopWork = keepBusy(system);
  await killAtRandom(victims);
  const tasks = await stopWork();
  expect(tasks.length).toBeGreaterThan(0);
  await expectAllDoneOnce(system, tasks);
  for (const [i, victim] of victims.entries()) {
    const exits = victim.exits().slice(before[i]);
    expect(exits.length).toBeGreaterThan(0);
    expect(new Set(exits.map(({ signal }) => signal))).toEqual(new Set(['SIGKILL']));
    await victim.started();
  }
});
