import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ServiceProcess } from '../../kit/stack/as-process.ts';
import { approveCrowd, expectAllDoneOnce, keepBusy, submitCrowd } from '../../kit/tasks/bulk-tasks.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { untilTrue } from '../../kit/until.ts';

let system: System;
beforeEach(async () => {
  system = await createSystem({ shortResends: true });
});
afterEach(() => system.stop());

describe('two replicas of each service', () => {
  test('two replicas of each service share the work and do none of it twice', async () => {
    await Promise.all([...SERVICES, ...SERVICES].map((service) => system.start(service)));
    const tasks = await submitCrowd(system, 60);
    await approveCrowd(system, tasks);
    await expectAllDoneOnce(system, tasks);
  });

  test('one replica of each service continues when the other stops under load', async () => {
    const first = await Promise.all(SERVICES.map((service) => system.start(service)));
    await Promise.all(SERVICES.map((service) => system.start(service)));
    const stopWork = keepBusy(system);
    const waiting = await submitCrowd(system, 20);
    await Promise.all(first.map(({ stop }) => stop()));
    await approveCrowd(system, waiting);
    await expectAllDoneOnce(system, [...waiting, ...(await stopWork())]);
  });
});

describe('a service that stops under load', () => {
  test.each(SERVICES)('the %s stops under load with code 0 and loses nothing', async (service) => {
    await Promise.all(SERVICES.filter((each) => each !== service).map((each) => system.start(each)));
    const process: ServiceProcess = await system.spawn(service);
    await process.started();
    const stopWork = keepBusy(system);
    const waiting = await submitCrowd(system, 20);
    for (let times = 1; times <= 2; times += 1) {
      process.signal('SIGTERM');
      await approveCrowd(system, waiting.slice((times - 1) * 10, times * 10));
      await untilTrue(`${service} has ended`, () => process.exits().length === times);
      await process.started();
    }
    await expectAllDoneOnce(system, [...waiting, ...(await stopWork())]);
    expect(process.exits()).toEqual([
      { code: 0, signal: null },
      { code: 0, signal: null },
    ]);
    const complaints = (await process.lines()).filter(({ level }) => level >= 50);
    expect(complaints).toEqual([]);
  });
});
