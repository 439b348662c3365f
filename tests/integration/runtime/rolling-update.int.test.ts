import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ServiceProcess } from '../../kit/stack/as-process.ts';
import { approveCrowd, expectAllDoneOnce, keepBusy, submitCrowd } from '../../kit/tasks/bulk-tasks.ts';
import { APPLIED_BY_NEXT, dropSchemas, migrateNow, migrateToNext } from '../../kit/stack/next-release.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approveAndComplete, submitSample } from '../../kit/tasks/tasks.ts';

let system: System;
beforeEach(async () => {
  system = await createSystem();
});
afterEach(() => system.stop());

const complaintsOf = async (processes: readonly ServiceProcess[]): Promise<readonly unknown[]> =>
  (await Promise.all(processes.map(({ lines }) => lines()))).flat().filter(({ level }) => level >= 50);

test('a rolling update under load with a migration loses nothing and repeats nothing', async () => {
  const before = await Promise.all(
    [...SERVICES, ...SERVICES].map(async (service) => ({ service, process: await system.spawn(service) })),
  );
  await Promise.all(before.map(({ process }) => process.started()));
  const stopWork = keepBusy(system);
  const waiting = await submitCrowd(system, 20);

  const { applied } = await migrateToNext(system);
  expect(applied).toEqual(APPLIED_BY_NEXT);
  // Processes of the earlier release work with the migrated schema.
  await approveAndComplete(system.client, await submitSample(system.client));

  const after: ServiceProcess[] = [];
  const exits: unknown[] = [];
  for (const { service, process } of before) {
    // As in a rolling deployment: a new replica starts before an old one stops, so both releases work side
    // by side.
    const next = await system.spawn(service);
    await next.started();
    after.push(next);
    exits.push(await process.stop());
    await approveCrowd(system, waiting.slice(exits.length * 2 - 2, exits.length * 2));
  }
  await approveCrowd(system, waiting.slice(before.length * 2));
  await expectAllDoneOnce(system, [...waiting, ...(await stopWork())]);

  expect(exits).toEqual(before.map(() => ({ code: 0, signal: null })));
  expect(after.flatMap((process) => process.exits())).toEqual([]);
  expect(await complaintsOf([...before.map(({ process }) => process), ...after])).toEqual([]);
});

test('services that start before their schema exists work once it does', async () => {
  await dropSchemas(system);
  const processes = await Promise.all(SERVICES.map((service) => system.spawn(service)));
  const { applied } = await migrateNow(system);
  expect(Object.values(applied).every((names) => names.length > 0)).toBe(true);
  const task = await submitSample(system.client);
  await approveAndComplete(system.client, task);
  await expectAllDoneOnce(system, [task]);
  await Promise.all(processes.map((process) => process.stop()));
});
